"""Words that conclusions about overlap share: ways to divide, amounts of work, shares."""

from isthmus.analysis.overlap.model import PipelinePoint
from isthmus.analysis.overlap.work import Work
from isthmus.analysis.phrases import memory_name
from isthmus.language import say
from isthmus.record import Interval, format_seconds

__all__ = ["multiple_digits", "percent", "speedup_words", "way_words", "work_words", "workers_words"]


def way_words(host_memory: str, chunks: int, streams: int) -> str:
    """``16 chunks on 4 streams``; of staged memory ``32 chunks on 8 threads``, which have a stream each."""
    return say("overlap.way", chunks=say("overlap.chunks", count=chunks), workers=workers_words(host_memory, streams))


def workers_words(host_memory: str, count: int) -> str:
    """``4 streams``; of staged memory ``8 threads``."""
    return say("overlap.threads" if host_memory == "staged" else "overlap.streams", count=count)


def work_words(work: Work) -> str:
    """``work that takes 7.2 times as long as a copy of pinned memory``, as it was measured to."""
    if work.multiple is None:
        digits = f"{work.ratio:g}"
        return say("overlap.work_meant_once") if digits == "1" else say("overlap.work_meant", factor=digits)
    digits, memory = multiple_digits(work), memory_name(work.base)
    if digits == "1":
        return say("overlap.work_once", memory=memory)
    return say("overlap.work", factor=digits, memory=memory)


def multiple_digits(work: Work) -> str:
    """``7.2``: the multiple that was measured, to two digits, or the one that was meant where none was."""
    return f"{work.ratio if work.multiple is None else float(f'{work.multiple:.2g}'):g}"


def percent(share: Interval) -> str:
    """``93 % (91 to 95 %)``."""
    median, low, high = (f"{100 * value:.0f}" for value in share)
    return f"{median} %" if low == high else say("overlap.percent_span", median=median, low=low, high=high)


def speedup_words(point: PipelinePoint, serial: PipelinePoint) -> str:
    """``2.65 (2.60 to 2.70) times as fast as one stage after the other (3.72 ms)``."""
    assert point.speedup is not None, "there is a serial time"
    median, low, high = (f"{value:.2f}" for value in point.speedup)
    factor = median if low == high else say("overlap.factor_span", median=median, low=low, high=high)
    return say("overlap.speedup", factor=factor, time=format_seconds(serial.seconds.median))
