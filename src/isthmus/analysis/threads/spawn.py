"""What persistent threads are worth: the time that creating and joining threads for each transfer adds to it."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.resample import interval_of, resampled_medians
from isthmus.analysis.threads.model import ThreadCurve, reference_bytes
from isthmus.record import Interval

# Few enough threads to be usual, enough to cost something.
_USUAL_THREADS = 16


@dataclass(frozen=True)
class SpawnCost:
    """What creating so many threads of each direction costs one transfer.

    `seconds` is the difference of the medians of created and persistent threads, `share` that over the time with
    persistent threads; both with 95 % intervals from resampling. `curve` is that of the persistent threads.
    """

    curve: ThreadCurve
    threads: int
    seconds: Interval
    share: Interval

    @property
    def is_resolved(self) -> bool:
        """Whether the interval excludes that created threads cost nothing."""
        return self.seconds.low > 0


@once()
def spawn_costs(curves: Sequence[ThreadCurve]) -> Sequence[SpawnCost]:
    """A cost for each transfer that was measured with persistent and with created threads, by number of threads."""
    workers = {_key(curve): curve for curve in curves if curve.method == "workers"}
    pairs = [
        (workers[_key(curve)], threads, workers[_key(curve)].points[threads].samples, point.samples)
        for curve in curves
        if curve.method == "spawn" and _key(curve) in workers
        for threads, point in curve.points.items()
        if threads in workers[_key(curve)].points
    ]
    # Two seeds: with one, both would be drawn by the same ranks, and their differences look steadier than they are.
    kept = resampled_medians([samples for _, _, samples, _ in pairs], seed=1)
    spawned = resampled_medians([samples for _, _, _, samples in pairs], seed=2)
    return [
        SpawnCost(curve, threads, interval_of(spawned[row] - kept[row]), interval_of(spawned[row] / kept[row] - 1))
        for row, (curve, threads, _, _) in enumerate(pairs)
    ]


def usual_spawn_cost(costs: Sequence[SpawnCost]) -> SpawnCost | None:
    """The cost to name first: of 16 threads, if measured, for the transfer of 64 MiB that suffers the most from it."""
    size = reference_bytes([cost.curve for cost in costs])
    chosen = [cost for cost in costs if cost.curve.bytes == size and cost.curve.direction != "both"]
    counts = {cost.threads for cost in chosen}
    usual = _USUAL_THREADS if _USUAL_THREADS in counts else max(counts, default=0)
    same = [cost for cost in chosen if cost.threads == usual]
    return max(same, key=lambda cost: (cost.is_resolved, cost.share.median), default=None)


def _key(curve: ThreadCurve) -> tuple[object, ...]:
    return *curve.subject, curve.streams, curve.slicing
