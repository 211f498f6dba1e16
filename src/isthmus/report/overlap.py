"""The section on overlap: the best pipelines, how near all come to their bound, both ways at once, timelines."""

from collections.abc import Sequence

from isthmus.record import Run
from isthmus.report.overlap_best import best_part
from isthmus.report.overlap_charts import chart_parts
from isthmus.report.overlap_exchange import exchange_part
from isthmus.report.overlap_shares import share_parts
from isthmus.report.overlap_sources import base_words, sources
from isthmus.report.overlap_timeline import timeline_parts
from isthmus.report.section import Section

__all__ = ["section"]

_INTRO = (
    "Data goes to the device, is worked on, and comes back, in equal chunks that streams take turns with; staged "
    "pageable memory goes through page-locked memory, a thread for each stream. Each sample is the time from the first "
    "call until all results are back, on the host's clock. The bound is what it would take if every stage ran at the "
    "speed that it has alone and all of them at once: for n chunks (in + work + out) / n + (n - 1) / n x the longest "
    "of the three. "
)


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of overlap; None where that is nothing but skips."""
    everything = sources(runs)
    parts = [
        best_part(runs, everything),
        *share_parts(runs, everything),
        *chart_parts(runs, everything),
        exchange_part(runs),
        *timeline_parts(runs, everything),
    ]
    shown = tuple(part for part in parts if part)
    work = f"Work is given by its time alone, as a multiple of that of {base_words(everything)} alone."
    return Section("overlap", "Overlap", _INTRO + work, shown) if shown else None
