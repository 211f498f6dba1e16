"""The section on sections of arrays: known ones first, the fastest method everywhere, crossovers, all times."""

from collections.abc import Sequence

from isthmus.analysis.pieces.alignment_table import alignment_part
from isthmus.analysis.strided.crossovers import crossovers_part, row_cost_part
from isthmus.analysis.strided.curves import curves_part, figures_part
from isthmus.analysis.strided.known import known_parts, padding_part
from isthmus.analysis.strided.labels import method_label
from isthmus.analysis.strided.map import map_parts, sources
from isthmus.analysis.strided.model import STRIDED_METHODS
from isthmus.document.section import Section
from isthmus.language import say
from isthmus.record import Run

__all__ = ["section"]

_CAVEATS = ("prepared", "pitches", "threads")


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of sections of arrays; None where that is nothing but skips."""
    found = sources(runs)
    parts = [
        *known_parts(runs),
        padding_part(runs),
        alignment_part(runs, "strided", STRIDED_METHODS, method_label),
        *map_parts(runs, found),
        curves_part(runs, found),
        crossovers_part(runs, found),
        row_cost_part(runs, found),
        figures_part(runs, found),
    ]
    shown = tuple(part for part in parts if part)
    if not shown:
        return None
    return Section(
        "strided",
        say("strided_report.title"),
        say("strided_report.intro"),
        shown,
        question=say("strided_report.question"),
        caveats=tuple(say(f"strided_report.caveat_{name}") for name in _CAVEATS),
    )
