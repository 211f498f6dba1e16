"""The section on overlap: the best pipelines, how near all come to their bound, both ways at once, timelines."""

from collections.abc import Sequence

from isthmus.analysis.overlap.best import best_part
from isthmus.analysis.overlap.charts import chart_parts
from isthmus.analysis.overlap.exchange_table import exchange_part
from isthmus.analysis.overlap.shares import share_parts
from isthmus.analysis.overlap.sources import base_words, sources
from isthmus.analysis.overlap.timeline import timeline_parts
from isthmus.document.section import Section
from isthmus.language import say, sentences
from isthmus.record import Run

__all__ = ["section"]


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
    if not shown:
        return None
    return Section(
        "overlap",
        say("overlap_report.title"),
        sentences([say("overlap_report.intro"), say("overlap_report.intro_work", base=base_words(everything))]),
        shown,
        say("overlap_report.question"),
        (say("overlap_report.caveat_work"), say("overlap_report.caveat_bound")),
    )
