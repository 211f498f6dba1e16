"""What a pipeline of copy in, work and copy out takes: filled once, then one chunk after the other, then drained."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from isthmus.analysis.bandwidth.prediction import Prediction, Predictor, TwoWays, curve_predictor, two_ways
from isthmus.analysis.statistics.curve import ONE_WAY, Curve, bandwidth_curves, find
from isthmus.analysis.statistics.resample import DRAWS, Draws, interval_of
from isthmus.analysis.statistics.shape import LARGE_BYTES
from isthmus.record import Run

# A call that returns no sooner than this share of the copy's time has made the copy itself.
_BUSY_SHARE = 0.5


def pipeline_seconds(
    stages: Sequence[Draws], chunks: int, *, busy: Sequence[Draws] | None = None, streams: int | None = None
) -> Draws:
    """Seconds of `chunks` equal chunks through stages that each take one at a time, given a chunk's time in each.

    The first chunk passes through every stage, and each of the others leaves the slowest stage one period later:
    sum + (n - 1) * max. It is the makespan of a permutation flow shop with n identical jobs, and what fills and drains
    the pipeline is in the first term. `busy` are the stages' times while the others run too, where those differ. A
    stream takes one chunk at a time from end to end, so that `streams` of them take a chunk in no less than a share of
    all stages together; None for as many as it takes.
    """
    running = np.vstack(list(stages if busy is None else busy))
    period = running.max(axis=0)
    if streams is not None:
        period = np.maximum(period, running.sum(axis=0) / streams)
    seconds: Draws = np.vstack(list(stages)).sum(axis=0) + (chunks - 1) * period
    return seconds


@dataclass(frozen=True, eq=False)
class PipelineModel:
    """What a run knows of pipelines through one kind of memory: copies alone, what each loses while the other runs.

    `occupied` says that a copy occupies the thread that starts it, so that one thread has nothing to overlap.
    """

    host_memory: str
    into: Predictor
    out: Predictor
    both: TwoWays | None
    occupied: bool

    def at(self, size: float, compute_seconds: float, chunks: int, streams: int) -> Prediction:
        """Seconds for `size` bytes in, work that takes so long for all of them, and as many bytes out.

        One thread starts everything, chunk by chunk, on alternating streams. A chunk's copies take what a transfer
        of its size takes on the host's clock, so that the latency of every chunk counts, and where several streams run
        the time that the other direction adds to it.
        """
        chunk = size / chunks
        into, out = self.into.at(chunk), self.out.at(chunk)
        work = np.full(1 + DRAWS, compute_seconds / chunks)
        # A single stream goes from one stage to the next, and so does a thread that copies itself.
        streams = 1 if self.occupied else streams
        busy = [into.draws, work, out.draws]
        if self.both and streams > 1:
            busy = [into.draws + self.both.added("h2d", chunk), work, out.draws + self.both.added("d2h", chunk)]
        seconds = pipeline_seconds([into.draws, work, out.draws], chunks, busy=busy, streams=streams)
        return Prediction(interval_of(seconds), into.beyond or out.beyond, seconds)


def pipeline_model(run: Run, host_memory: str) -> PipelineModel | None:
    """The model of one kind of memory; None where the run has no copies of it in both directions."""
    curves = bandwidth_curves(run)
    known = [find(curves, direction, host_memory) for direction in ONE_WAY]
    into, out = (curve_predictor(curve) if curve else None for curve in known)
    if into is None or out is None:
        return None
    return PipelineModel(host_memory, into, out, two_ways(run, host_memory), _occupied(run, filter(None, known)))


def _occupied(run: Run, curves: Iterable[Curve]) -> bool:
    """Whether the calls of either direction return only when their copies of 1 MiB and above are made."""
    for curve in curves:
        shares = [
            float(np.median(enqueued) / np.median(case.samples("host_seconds")))
            for case in run.cases
            if (case.experiment, case.method, case.direction, case.host_memory)
            == ("bandwidth", curve.method, curve.direction, curve.host_memory)
            and case.bytes >= LARGE_BYTES
            and (enqueued := case.samples("enqueue_seconds"))
            and curve.at(case.bytes)
        ]
        if shares and np.median(shares) >= _BUSY_SHARE:
            return True
    return False
