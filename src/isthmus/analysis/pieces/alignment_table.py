"""What it costs that pieces or rows are aligned to a few bytes only: how many times as long each method takes."""

from collections.abc import Callable, Sequence

from isthmus.analysis.labels import kind_label, of_run
from isthmus.analysis.phrases import way_name
from isthmus.analysis.pieces.alignment import AlignmentPair, alignment_pairs
from isthmus.analysis.pieces.words import layout_words
from isthmus.document.grid import Cell, Column, Grid, Group, Row, interval_cell
from isthmus.document.section import Part
from isthmus.document.states import missing
from isthmus.language import say
from isthmus.record import Run, format_bytes

__all__ = ["alignment_part"]


def alignment_part(
    runs: Sequence[Run], experiment: str, methods: Sequence[str], label: Callable[[str], str]
) -> Part | None:
    """A table for each size of an experiment's pieces: its methods down, what they are aligned to across."""
    found = [
        (index, pair)
        for index, run in enumerate(runs)
        for pair in alignment_pairs(run)
        if pair.experiment == experiment
    ]
    found.sort(key=lambda each: _place(*each))
    if not found:
        return None
    units = sorted({pair.unit_bytes for _, pair in found}, reverse=True)
    columns = tuple(Column(format_bytes(unit), format_bytes(unit)) for unit in units)
    grids = []
    for size in sorted({_about(pair) for _, pair in found}, reverse=True):
        groups: dict[str, dict[str, dict[int, Cell]]] = {}
        for index, pair in found:
            if _about(pair) == size:
                rows = groups.setdefault(_title(runs, index, pair), {})
                rows.setdefault(pair.method, {})[pair.unit_bytes] = _cell(pair)
        shown = tuple(
            Group(title, tuple(_row(label(method), rows[method], units) for method in methods if method in rows))
            for title, rows in groups.items()
        )
        grids.append(
            Grid(say("alignment.grid", size=format_bytes(size)), columns, shown, corner=say("alignment.corner"))
        )
    return Part(say("alignment.title"), say("alignment.note"), grids=tuple(grids), page_only=True)


def _place(index: int, pair: AlignmentPair) -> tuple[object, ...]:
    """Pinned memory before pageable, H2D before D2H."""
    return pair.host_memory != "pinned", pair.host_memory, pair.layouts, pair.direction != "h2d", index


def _about(pair: AlignmentPair) -> int:
    """Bytes of the aligned one's pieces."""
    return pair.each_bytes - pair.unit_bytes


def _title(runs: Sequence[Run], index: int, pair: AlignmentPair) -> str:
    title = say(
        "alignment.group",
        way=way_name(pair.direction),
        memory=kind_label(pair.host_memory),
        layouts=layout_words(*pair.layouts),
    )
    return of_run(title, runs, index)


def _row(heading: str, cells: dict[int, Cell], units: Sequence[int]) -> Row:
    return Row(heading, tuple(cells.get(unit) or missing() for unit in units))


def _cell(pair: AlignmentPair) -> Cell:
    # Two figures went into it, each known as well as the run aimed at.
    wide = pair.slowdown.relative_half_width > 2 * pair.aligned.target_relative_half_width
    return interval_cell(pair.slowdown, wide=wide)
