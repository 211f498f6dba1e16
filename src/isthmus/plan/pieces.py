"""Methods to move many pieces of one size that lie apart, from the batching experiment."""

from collections.abc import Sequence

from isthmus.analysis.pieces.cell import BATCHING
from isthmus.analysis.pieces.model import Surface, piece_surfaces
from isthmus.analysis.statistics.surface import Spot
from isthmus.language import say
from isthmus.plan.answer import Plan
from isthmus.plan.surfaces import is_aligned, reasons, ways_at
from isthmus.record import LayoutName, PiecesNeed, Run


def pieces_ways(run: Run, need: PiecesNeed) -> Plan:
    """Every method that the batching experiment measured for this direction, memory and pair of layouts, the fastest
    first.

    Pieces at one stride count as scattered where only those were measured: each is addressed for itself by the same
    calls. Other layouts leave methods more, or less, to do, so that nothing can replace them.
    """
    surfaces = [
        each
        for each in piece_surfaces(run, BATCHING)
        if (each.direction, each.host_memory) == (need.direction, need.source)
    ]
    surface = _surface(surfaces, need.host_layout, need.device_layout)
    if surface is None:
        methods = (method for each in surfaces for method in each.methods)
        return Plan(need, (), unpriced=dict.fromkeys(methods, say("plan.layout_unmeasured")))
    cells = {Spot(*key): cell for key, cell in surface.cells.items()}
    aligned = is_aligned(need.piece_bytes)
    priced = ways_at(run, cells, Spot(need.piece_bytes, need.pieces), aligned=aligned)
    unknown, unpriced = reasons(cells.values(), priced, aligned=aligned)
    return Plan(need, tuple(priced), unknown | dict(surface.refused), unpriced)


def _surface(surfaces: Sequence[Surface], host: LayoutName, device: LayoutName) -> Surface | None:
    by_layouts = {each.layouts: each for each in surfaces}
    return by_layouts.get((host, device)) or by_layouts.get((_any_place(host), _any_place(device)))


def _any_place(layout: LayoutName) -> LayoutName:
    return "scattered" if layout == "strided" else layout
