"""The section on threads: many host threads that copy one buffer, several devices at once, and NUMA nodes."""

from collections.abc import Sequence

from isthmus.record import Run
from isthmus.report.section import Section
from isthmus.report.threads_both import both_part
from isthmus.report.threads_created import created_part
from isthmus.report.threads_places import place_parts
from isthmus.report.threads_published import published_part
from isthmus.report.threads_rates import rate_parts

__all__ = ["section"]

_INTRO = (
    "Threads of the host copy one buffer together, each its slice or the next chunk from a common counter, on a stream "
    "of its own or on one that they share; persistent threads are woken together, created ones live for one transfer. "
    "Each sample is the time from the start of all to the arrival of the last byte, on the host's clock. Both ways: as "
    "many threads each way at once, rates are sums."
)


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of threads; None where that is nothing but skips."""
    parts = [*rate_parts(runs), both_part(runs), created_part(runs), *place_parts(runs), published_part(runs)]
    shown = tuple(part for part in parts if part)
    return Section("threads", "Threads", _INTRO, shown) if shown else None
