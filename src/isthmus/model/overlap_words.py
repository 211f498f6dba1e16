"""Words that conclusions about overlap share: ways to divide, amounts of work, shares."""

from isthmus.model.overlap import PipelinePoint
from isthmus.model.overlap_work import Work
from isthmus.model.phrases import memory_name
from isthmus.record import Interval, format_seconds

__all__ = ["multiple_digits", "percent", "speedup_words", "way_words", "work_words"]


def way_words(host_memory: str, chunks: int, streams: int) -> str:
    """``16 chunks on 4 streams``; of staged memory ``32 chunks on 8 threads``, which have a stream each."""
    workers = "thread" if host_memory == "staged" else "stream"
    many = "" if streams == 1 else "s"
    return f"{chunks} chunk{'' if chunks == 1 else 's'} on {streams} {workers}{many}"


def work_words(work: Work) -> str:
    """``work that takes 7.2 times as long as a copy of pinned memory``, as it was measured to."""
    if work.multiple is None:
        return f"work that was meant to take {_times(f'{work.ratio:g}')}as long as a copy"
    return f"work that takes {_times(multiple_digits(work))}as long as a copy of {memory_name(work.base)}"


def multiple_digits(work: Work) -> str:
    """``7.2``: the multiple that was measured, to two digits, or the one that was meant where none was."""
    return f"{work.ratio if work.multiple is None else float(f'{work.multiple:.2g}'):g}"


def _times(digits: str) -> str:
    return "" if digits == "1" else f"{digits} times "


def percent(share: Interval) -> str:
    """``93 % (91 to 95 %)``."""
    median, low, high = (f"{100 * value:.0f}" for value in share)
    return f"{median} %" if low == high else f"{median} % ({low} to {high} %)"


def speedup_words(point: PipelinePoint, serial: PipelinePoint) -> str:
    """``2.65 (2.60 to 2.70) times as fast as one stage after the other (3.72 ms)``."""
    assert point.speedup is not None, "there is a serial time"
    median, low, high = (f"{value:.2f}" for value in point.speedup)
    spread = "" if low == high else f" ({low} to {high})"
    return f"{median}{spread} times as fast as one stage after the other ({format_seconds(serial.seconds.median)})"
