"""Whether copies in and out really run at once: both without work between them, against each alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.analysis.overlap.model import pipeline_bound
from isthmus.analysis.overlap.times import Timed, fastest_alone, timed_cases
from isthmus.analysis.statistics.resample import interval_of
from isthmus.record import Interval, Run

_HARDLY = 0.2


@dataclass(frozen=True)
class Exchange:
    """Data of one kind of memory that goes in and comes out in chunks, without work.

    `seconds` is the fastest of the methods measured, on `chunks` and `streams`; `serial` is one copy after the other,
    `bound` what it would take if neither slowed the other. `hidden` is how much of what a perfect exchange saves over
    `serial` is saved: 1 where both run at once at full speed, 0 where neither overlaps.
    """

    host_memory: str
    bytes: int
    chunks: int
    streams: int
    seconds: Interval
    serial: Interval
    bound: Interval
    hidden: Interval
    converged: bool

    @property
    def in_turn(self) -> bool:
        """Whether the directions hardly overlap, as far as the intervals tell."""
        return self.hidden.high <= _HARDLY


def exchanges(run: Run) -> list[Exchange]:
    """One for each kind of memory and size for which both copies were also measured alone."""
    timed = timed_cases(run)
    keys = dict.fromkeys((each.case.host_memory, each.case.bytes) for each in timed if each.case.method == "both_ways")
    return [exchange for key in keys if (exchange := _exchange(timed, *key))]


def _exchange(timed: Sequence[Timed], memory: str, size: int) -> Exchange | None:
    into, out, both = (fastest_alone(timed, method, memory, size) for method in ("in_alone", "out_alone", "both_ways"))
    chunks = both.case.pieces if both else None
    # A single chunk has nothing to exchange with.
    if into is None or out is None or both is None or not chunks or chunks < 2:
        return None
    serial, bound = into.draws + out.draws, pipeline_bound([into.draws, out.draws], chunks)
    return Exchange(
        host_memory=memory,
        bytes=size,
        chunks=chunks,
        streams=both.case.streams or 1,
        seconds=both.seconds,
        serial=interval_of(serial),
        bound=interval_of(bound),
        hidden=interval_of((serial - both.draws) / (serial - bound)),
        converged=both.converged,
    )
