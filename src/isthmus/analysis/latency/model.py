"""The steps that a run measured, each with its time and what of that its caller spends."""

from collections.abc import Sequence
from typing import NamedTuple

from isthmus.analysis.statistics.once import once
from isthmus.record import Interval, Run, kind_rank, median_interval

_METHODS = ("access", "launch", "event", "query", "wait", "copy")


class Step(NamedTuple):
    """Seconds of one step until it has ended; `queued` are those of the call alone, `rate` is in bytes per second."""

    method: str
    memory: str
    ends: str  # the two devices of an access to a peer's memory
    bytes: int
    seconds: Interval
    queued: Interval | None
    rate: Interval | None
    wide: bool


@once()
def steps(run: Run) -> Sequence[Step]:
    """In the order of the table; without those whose data was wrong."""
    all_steps = []
    for case in run.cases:
        # Accesses are timed on the device's clock alone.
        samples = case.samples("host_seconds") or case.samples("device_seconds")
        if (
            case.experiment != "latency"
            or case.method not in _METHODS
            or case.verified == "no"
            or min(samples, default=0) <= 0
        ):
            continue
        seconds, queued, moved = median_interval(samples), case.samples("enqueue_seconds"), case.bytes
        rate = Interval(moved / seconds.median, moved / seconds.high, moved / seconds.low)
        all_steps.append(
            Step(
                method=case.method,
                memory=case.host_memory,
                ends=f"{case.target} - {case.peer}" if case.peer else "",
                bytes=case.bytes,
                seconds=seconds,
                queued=median_interval(queued) if queued and case.method == "launch" else None,
                rate=rate if case.method == "copy" else None,
                wide=seconds.relative_half_width > run.settings.target_relative_half_width,
            )
        )
    return sorted(all_steps, key=lambda each: (_METHODS.index(each.method), kind_rank(each.memory), each.bytes))
