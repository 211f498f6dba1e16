"""Methods to move pieces or rows at a spot, each by the surface through what was measured of it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from isthmus.analysis.pieces.cell import BATCHING, STRIDED, WHOLE, Cell
from isthmus.analysis.pieces.model import alignment_unit, natural_unit, piece_cells, piece_surfaces
from isthmus.analysis.statistics.resample import interval_of
from isthmus.analysis.statistics.surface import Spot, cost_surface
from isthmus.errors import UsageError
from isthmus.language import say
from isthmus.plan.answer import Method, Plan, by_time
from isthmus.record import LayoutName, PiecesNeed, Run, SectionNeed, format_bytes

_PLAINEST = ("section", *BATCHING.methods)
_PACKED_ON_THREADS = ("pack_threads", "pack_kernel")
# Whose threads move one unit each, so that halving it doubles their accesses.
_BY_UNITS = ("kernel", "mapped_kernel", "pack_kernel", "device_pack")


def is_aligned(each_bytes: int, *pitches: int) -> bool:
    """Whether pieces and their pitches are so well aligned that those that were measured stand for them.

    Of 48 needs on an H200, those aligned to 4 bytes took what aligned ones take (benchmarks/plan_check.py).
    """
    return alignment_unit(each_bytes, *pitches) >= min(natural_unit(each_bytes), 4)


def ways_at(run: Run, cells: Mapping[Spot, Cell], spot: Spot, *, aligned: bool) -> list[Method]:
    """Every method that was measured on either side of the spot, the fastest there first.

    Methods that move by units are left out where pieces are not aligned: measured ones are.
    """
    samples: dict[str, dict[Spot, tuple[float, ...]]] = {}
    for measured, cell in cells.items():
        for method, point in cell.compared.items():
            samples.setdefault(method, {})[measured] = point.samples
    threads = max((cell.threads for cell in cells.values()), default=0)
    target = run.settings.target_relative_half_width
    methods: list[Method] = []
    for method in sorted(
        samples, key=lambda method: _PLAINEST.index(method) if method in _PLAINEST else len(_PLAINEST)
    ):
        surface = cost_surface(samples[method], known_within=target)
        if surface.side(spot) or (method in _BY_UNITS and not aligned):
            continue
        seconds = interval_of(surface.draws_at(spot))
        options = {"threads": threads} if threads and method in _PACKED_ON_THREADS else {}
        methods.append(Method(method, seconds, options=options))
    return list(by_time(methods))


def reasons(cells: Iterable[Cell], known: Iterable[Method], *, aligned: bool) -> tuple[dict[str, str], dict[str, str]]:
    """Why methods have no time: the run says that they cannot be had or are wrong; or it holds nothing near enough."""
    unknown: dict[str, str] = {}
    unpriced: dict[str, str] = {}
    names = {way.name for way in known}
    for cell in cells:
        for method in (each for each in cell.compared if each not in names):
            near = aligned or method not in _BY_UNITS
            unpriced[method] = say("plan.too_far" if near else "plan.layout_unmeasured")
        unknown |= {method: reason for method, reason in cell.skipped.items() if method not in names}
        unknown |= {method: say("labels.wrong_data") for method in cell.failed if method not in names}
    return {name: why for name, why in unknown.items() if name not in unpriced}, unpriced


class _Layouts(NamedTuple):
    host: LayoutName
    device: LayoutName


def section_ways(run: Run, need: SectionNeed) -> Plan:
    """Every method that the strided experiment measured where the rows lie so, the fastest first.

    Sections of several slices are left out: their rows are no stretch apart that one number could say. Raises
    UsageError for rows that are wider than their pitch, and for those that lie side by side everywhere, which are a
    buffer.
    """
    device_pitch = need.device_pitch_bytes or need.width_bytes
    layouts = _Layouts(_layout("host", need, need.pitch_bytes), _layout("device", need, device_pitch))
    if layouts == ("contiguous", "contiguous"):
        total = format_bytes(need.rows * need.width_bytes).replace(" ", "")
        raise UsageError(
            f"{need.rows} rows of {need.width_bytes} bytes that lie side by side on both sides are one buffer: "
            f"isthmus plan --bytes {total} --direction {need.direction} --source {need.source}"
        )
    alike = [
        cell
        for cell in piece_cells(run, STRIDED)
        if (cell.direction, cell.host_memory) == (need.direction, need.source) and cell.shape.slices == 1
    ]
    here = [cell for cell in alike if cell.layouts == layouts]
    spot = Spot(need.width_bytes, need.rows, max(need.pitch_bytes, device_pitch))
    aligned = is_aligned(need.width_bytes, need.pitch_bytes, device_pitch)
    methods = ways_at(run, {_spot(cell): cell for cell in here}, spot, aligned=aligned)
    unknown, unpriced = reasons(here, methods, aligned=aligned)
    known = {*unknown, *unpriced, *(each.name for each in methods)}
    elsewhere = {method for cell in alike for method in cell.points if method not in known}
    unpriced |= {method: say("plan.layout_unmeasured") for method in STRIDED.methods if method in elsewhere}
    if any(WHOLE in cell.points for cell in here):
        unpriced.pop(WHOLE, None)
        unknown[WHOLE] = say("plan.overwrites")
    return Plan(need, tuple(methods), unknown, unpriced)


def _layout(side: str, need: SectionNeed, pitch: int) -> LayoutName:
    if pitch < need.width_bytes:
        raise UsageError(
            f"rows of {need.width_bytes} bytes do not fit into a {side} pitch of {pitch}; a pitch is the bytes from "
            "the beginning of one row to that of the next, the width at least"
        )
    return "contiguous" if pitch == need.width_bytes or need.rows == 1 else "strided"


def _spot(cell: Cell) -> Spot:
    return Spot(cell.shape.width_bytes, cell.pieces, cell.shape.strided_pitch_bytes)


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
    by_layouts = {each.layouts: each for each in surfaces}
    surface = by_layouts.get((need.host_layout, need.device_layout)) or by_layouts.get(
        (_any_place(need.host_layout), _any_place(need.device_layout))
    )
    if surface is None:
        methods = (method for each in surfaces for method in each.methods)
        return Plan(need, (), unpriced=dict.fromkeys(methods, say("plan.layout_unmeasured")))
    cells = {Spot(*key): cell for key, cell in surface.cells.items()}
    aligned = is_aligned(need.piece_bytes)
    priced = ways_at(run, cells, Spot(need.piece_bytes, need.pieces), aligned=aligned)
    unknown, unpriced = reasons(cells.values(), priced, aligned=aligned)
    return Plan(need, tuple(priced), unknown | dict(surface.refused), unpriced)


def _any_place(layout: LayoutName) -> LayoutName:
    return "scattered" if layout == "strided" else layout
