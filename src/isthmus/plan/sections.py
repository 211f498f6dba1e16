"""Methods to move rows out of an array, from the strided experiment."""

from typing import NamedTuple

from isthmus.analysis.pieces.cell import STRIDED, WHOLE, Cell
from isthmus.analysis.pieces.model import piece_cells
from isthmus.analysis.statistics.surface import Spot
from isthmus.errors import UsageError
from isthmus.language import say
from isthmus.plan.answer import Plan
from isthmus.plan.surfaces import is_aligned, reasons, ways_at
from isthmus.record import LayoutName, Run, SectionNeed, format_bytes


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
