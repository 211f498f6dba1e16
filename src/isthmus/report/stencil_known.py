"""The paper's comparisons of managed and explicit memory for a stencil, beside those of the runs."""

from collections.abc import Sequence

from isthmus.model import PUBLISHED_PAIRS, PUBLISHED_SIDES, PublishedPair, capitalised, setting_words, way_label
from isthmus.report.grid import Cell, Column, Grid, Group, Row
from isthmus.report.labels import kind_label
from isthmus.report.section import Part
from isthmus.report.stencil_times import MISSING, Found, ratio_cell

__all__ = ["published_part"]

_NOTE = (
    "Managed over explicit memory: above 1 managed memory is slower. In the paper OpenACC directives copy arrays of "
    "ordinary memory or nvc++ makes all memory managed, on two ranks with a V100 each, one run of each. What differs "
    "here: "
)


def published_part(found: Sequence[Found]) -> Part | None:
    """A row for the paper's figures and one for each square with halos of one column; None where none has both ways."""
    ours = [each for each in found if each[2].halo == 1 and any(pair.ours(each[2]) for pair in PUBLISHED_PAIRS)]
    if not ours:
        return None
    columns = tuple(
        Column(f"{pair.name.removeprefix('the ').replace(' ', chr(10), 1)}", _column(pair)) for pair in PUBLISHED_PAIRS
    )
    paper = [
        Row(f"{side} points", tuple(Cell(f"{pair.ratios[side]:g}") for pair in PUBLISHED_PAIRS))
        for side in PUBLISHED_SIDES
    ]
    groups = [Group("Paper: 2 ranks, a V100 each", tuple(paper))]
    for title, run, stencil in ours:
        quotients = ((pair, pair.ours(stencil)) for pair in PUBLISHED_PAIRS)
        cells = tuple(ratio_cell(run, value) if value else MISSING for _, value in quotients)
        groups.append(Group(f"This run: {title}", (Row(f"{stencil.side} points", cells),)))
    grid = Grid("Managed over explicit memory, as the paper compares them", columns, tuple(groups), corner="Side")
    return Part("Beside the paper", _NOTE + _differences(ours), grids=(grid,))


def _column(pair: PublishedPair) -> str:
    ways = (f"{way_label(method)}, {kind_label(memory)}" for method, memory in (pair.managed, pair.explicit))
    return f"{capitalised(pair.name)} ({' over '.join(ways)})"


def _differences(ours: Sequence[Found]) -> str:
    """What the runs have other than the paper."""
    settings = list(dict.fromkeys(setting_words(stencil) for _, _, stencil in ours))
    sides = sorted({stencil.side for _, _, stencil in ours})
    told = [f"{' and '.join(settings)}", "kernels and copies of this program in place of directives"]
    shorter = [side for side in sides if side < min(PUBLISHED_SIDES)]
    if shorter:
        told.append(
            f"sides of {', '.join(map(str, shorter))} points, so that columns lie closer together "
            "(--side 30720,61440 measures the paper's)"
        )
    return f"{'; '.join(told)}."
