"""Rows on the device that are padded, as pitched allocations pad them, against rows that follow one another."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from isthmus.analysis.pieces.cell import Cell
from isthmus.analysis.statistics.contrast import ratio
from isthmus.record import Interval


@dataclass(frozen=True)
class Padding:
    """The same rows, direction and memory; `slowdowns` says how many times as long each method takes if padded."""

    padded: Cell
    slowdowns: Mapping[str, Interval]


def paddings(cells: Iterable[Cell]) -> list[Padding]:
    """Every pair that was measured with a method in common, in the order of the cells."""
    everything = list(cells)
    tight = {_host_key(cell): cell for cell in everything if cell.layouts[1] == "contiguous"}
    all_paddings = []
    for padded in filter(_is_padded, everything):
        other = tight.get(_host_key(padded))
        slowdowns = {
            method: ratio(padded.points[method].seconds, other.points[method].seconds)
            for method in padded.ranking
            if other and method in other.points
        }
        if slowdowns:
            all_paddings.append(Padding(padded, slowdowns))
    return all_paddings


def _is_padded(cell: Cell) -> bool:
    """Whether rows end in less padding than they hold data, and slices follow one another without any."""
    shape = cell.shape
    between = shape.device_slice_pitch_bytes == shape.rows * shape.device_pitch_bytes
    return shape.slices > 1 and between and shape.width_bytes < shape.device_pitch_bytes < 2 * shape.width_bytes


def _host_key(cell: Cell) -> tuple[object, ...]:
    return cell.direction, cell.host_memory, cell.shape._replace(device_pitch_bytes=0, device_slice_pitch_bytes=0)
