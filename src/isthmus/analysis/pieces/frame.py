"""The section of an experiment that moves pieces: the fastest method everywhere, from where it pays, all figures."""

from collections.abc import Sequence

from isthmus.analysis.pieces.cell import Kind
from isthmus.analysis.pieces.figures import curves_part, figures_part
from isthmus.analysis.pieces.map import main_sources, map_parts
from isthmus.analysis.pieces.model import piece_surfaces
from isthmus.analysis.pieces.tables import cost_part, pays_part
from isthmus.document.section import Part, Section
from isthmus.language import say
from isthmus.record import Run


def pieces_section(
    runs: Sequence[Run], kind: Kind, first: Sequence[Part | None], last: Sequence[Part | None]
) -> Section | None:
    """What the runs hold of an experiment, between parts of its own; None where that is nothing but skips."""
    sources = [(index, surface) for index, run in enumerate(runs) for surface in piece_surfaces(run, kind)]
    main = main_sources(sources)
    parts = [
        *first,
        *map_parts(runs, sources),
        pays_part(runs, main),
        cost_part(runs, sources),
        *last,
        curves_part(runs, main),
        figures_part(runs, sources),
    ]
    shown = tuple(part for part in parts if part)
    if not shown:
        return None
    name = kind.experiment
    return Section(
        name,
        say("batching_report.title" if name == "batching" else "strided_report.title"),
        say(f"pieces_report.intro_{name}"),
        shown,
        question=say("batching_report.question" if name == "batching" else "strided_report.question"),
        caveats=(
            say("pieces_report.caveat_prepared"),
            say(f"pieces_report.caveat_{name}"),
            say("pieces_report.caveat_threads"),
        ),
    )
