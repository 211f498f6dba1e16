"""The section on threads: many host threads that copy one buffer, several devices at once, and NUMA nodes."""

from collections.abc import Sequence

from isthmus.analysis.threads.both import both_part
from isthmus.analysis.threads.created import created_part
from isthmus.analysis.threads.places_tables import place_parts
from isthmus.analysis.threads.published_tables import published_part
from isthmus.analysis.threads.rates import rate_parts
from isthmus.document.section import Section
from isthmus.language import say
from isthmus.record import Run

__all__ = ["section"]


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of threads; None where that is nothing but skips."""
    parts = [*rate_parts(runs), both_part(runs), created_part(runs), *place_parts(runs), published_part(runs)]
    shown = tuple(part for part in parts if part)
    if not shown:
        return None
    return Section(
        "threads",
        say("threads_report.title"),
        say("threads_report.intro"),
        shown,
        say("threads_report.question"),
        (say("threads_report.caveat_copies"), say("threads_report.caveat_alone")),
    )
