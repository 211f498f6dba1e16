"""The paper's comparisons of managed and explicit memory for a stencil, beside those of the runs."""

from collections.abc import Sequence

from isthmus.analysis.stencil.published import PUBLISHED_PAIRS, PUBLISHED_SIDES, PublishedPair
from isthmus.analysis.stencil.times import Found, ratio_cell, way_title
from isthmus.analysis.stencil.words import setting_words
from isthmus.document.grid import Cell, Column, Grid, Group, Row
from isthmus.document.section import Part
from isthmus.document.states import missing
from isthmus.language import enumerated, say, sentences

__all__ = ["published_part"]


def published_part(found: Sequence[Found]) -> Part | None:
    """A row for the paper's figures and one for each square that is cut and has halos as there; None without any."""
    alike = [each for each in found if each[2].halo == 1 and each[2].down == 1 and each[2].is_square]
    ours = [each for each in alike if any(pair.ours(each[2]) for pair in PUBLISHED_PAIRS)]
    if not ours:
        return None
    columns = tuple(
        Column(say(f"stencil_report.packs_heading_{pair.packer}"), _column(pair)) for pair in PUBLISHED_PAIRS
    )
    paper = [
        Row(
            say("stencil_report.points", side=side),
            tuple(Cell(f"{pair.ratios[side]:g}") for pair in PUBLISHED_PAIRS),
        )
        for side in PUBLISHED_SIDES
    ]
    groups = [Group(say("stencil_report.paper_group"), tuple(paper))]
    for title, run, stencil in ours:
        quotients = ((pair, pair.ours(stencil)) for pair in PUBLISHED_PAIRS)
        cells = tuple(ratio_cell(run, value) if value else missing() for _, value in quotients)
        groups.append(Group(title, (Row(say("stencil_report.points", side=stencil.side), cells),)))
    grid = Grid(say("stencil_report.paper_grid"), columns, tuple(groups), corner=say("stencil_report.side"))
    return Part(say("stencil_report.paper_title"), _note(ours), grids=(grid,))


def _column(pair: PublishedPair) -> str:
    managed, explicit = way_title(pair.managed), way_title(pair.explicit)
    return say(f"stencil_report.packs_{pair.packer}", managed=managed, explicit=explicit)


def _note(ours: Sequence[Found]) -> str:
    """How to read the table, and what the runs have other than the paper."""
    settings = dict.fromkeys(setting_words(stencil) for _, _, stencil in ours)
    sides = sorted({stencil.side for _, _, stencil in ours})
    told = [
        say("stencil_report.paper_note"),
        say("stencil_report.paper_differs", settings=enumerated(list(settings))),
    ]
    shorter = [str(side) for side in sides if side < min(PUBLISHED_SIDES)]
    if shorter:
        told.append(say("stencil_report.paper_shorter", sides=enumerated(shorter)))
    return sentences(told)
