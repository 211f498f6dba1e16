"""Ways to move many pieces of one size that lie apart, from the batching experiment."""

from collections.abc import Sequence

from isthmus.analysis.pieces.cell import BATCHING
from isthmus.analysis.pieces.model import Surface, piece_surfaces
from isthmus.analysis.pieces.words import layout_words
from isthmus.analysis.statistics.surface import Spot
from isthmus.language import say
from isthmus.plan.answer import Plan
from isthmus.plan.misalignment import misalignment
from isthmus.plan.need import PiecesNeed
from isthmus.plan.surfaces import reasons, ways_at
from isthmus.plan.ways import contenders, size_option
from isthmus.record import LayoutName, Run

_EXPERIMENT = "batching"


def pieces_ways(run: Run, need: PiecesNeed) -> Plan:
    """Every method that the batching experiment measured for this way, memory and pair of layouts, the fastest first.

    Pieces at one stride count as scattered where only those were measured: each is addressed for itself by the same
    calls. Other layouts leave methods more, or less, to do, so that nothing stands for them.
    """
    command = f"isthmus measure {_EXPERIMENT}"
    surfaces = [
        each
        for each in piece_surfaces(run, BATCHING)
        if (each.direction, each.host_memory) == (need.direction, need.source)
    ]
    if not surfaces:
        return Plan(need, (), missing_experiments=(_EXPERIMENT,), extend=command)
    surface = _surface(surfaces, need.host_layout, need.device_layout)
    if surface is None:
        return Plan(need, (), _unmeasured(surfaces, need), extend=command)
    cells = {Spot(*key): cell for key, cell in surface.cells.items()}
    misaligned = misalignment(run, need)
    ways = ways_at(run, cells, Spot(need.piece_bytes, need.pieces), misaligned)
    unknown = reasons(cells.values(), ways) | dict(surface.refused)
    further = f"{command} --full --sizes {size_option(need.piece_bytes)} --memory {need.source}"
    extend = further if any(way.beyond for way in contenders(ways)) else "" if misaligned.is_measured else command
    unit = 0 if misaligned.is_measured else misaligned.unit
    return Plan(need, tuple(ways), unknown, extend=extend, unmeasured_unit=unit)


def _surface(surfaces: Sequence[Surface], host: LayoutName, device: LayoutName) -> Surface | None:
    by_layouts = {each.layouts: each for each in surfaces}
    return by_layouts.get((host, device)) or by_layouts.get((_any_place(host), _any_place(device)))


def _any_place(layout: LayoutName) -> LayoutName:
    return "scattered" if layout == "strided" else layout


def _unmeasured(surfaces: Sequence[Surface], need: PiecesNeed) -> dict[str, str]:
    reason = say("plan_pieces.layout_unmeasured", layouts=layout_words(need.host_layout, need.device_layout))
    return dict.fromkeys((method for surface in surfaces for method in surface.methods), reason)
