"""Grids of sections of arrays over the width and the number of their rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from isthmus.analysis.pieces.method_table import MethodTable
from isthmus.analysis.statistics.curve import Point
from isthmus.analysis.statistics.once import once
from isthmus.analysis.strided.model import STRIDED_METHODS, StridedCell
from isthmus.record import Direction, LayoutName

__all__ = ["GridKey", "StridedGrid", "strided_grids"]

# Row width in bytes, number of rows.
GridKey = tuple[int, int]


@dataclass(frozen=True)
class StridedGrid:
    """The sections of one direction, kind of host memory and pair of layouts at one pitch, by width and rows.

    `pitch_bytes` is None where it is twice the width of each row.
    """

    direction: Direction
    host_memory: str
    host_layout: LayoutName
    device_layout: LayoutName
    pitch_bytes: int | None
    cells: Mapping[GridKey, StridedCell]
    table: MethodTable

    @property
    def measured(self) -> dict[GridKey, StridedCell]:
        """The cells in which methods can be compared."""
        return {key: cell for key, cell in self.cells.items() if len(cell.ranking) > 1}

    @property
    def widths(self) -> list[int]:
        """Of rows, in bytes, ascending."""
        return sorted({width for width, _ in self.cells})

    @property
    def row_counts(self) -> list[int]:
        """Ascending."""
        return sorted({rows for _, rows in self.cells})

    @property
    def methods(self) -> list[str]:
        """Those with points, the plainest first."""
        found = {method for cell in self.cells.values() for method in cell.points}
        return [method for method in STRIDED_METHODS if method in found]

    def along_rows(self, width: int, method: str) -> dict[int, Point]:
        """A method's points by the number of rows, for rows of one width."""
        found = {rows: cell.points for (each, rows), cell in self.cells.items() if each == width}
        return {rows: points[method] for rows, points in sorted(found.items()) if method in points}

    def along_widths(self, rows: int, method: str) -> dict[int, Point]:
        """A method's points by the width of rows, for one number of rows."""
        found = {width: cell.points for (width, each), cell in self.cells.items() if each == rows}
        return {width: points[method] for width, points in sorted(found.items()) if method in points}


@once()
def strided_grids(cells: Iterable[StridedCell]) -> Sequence[StridedGrid]:
    """The grids with a cell in which methods can be compared, in the order of the cells."""
    groups: dict[tuple[object, ...], list[StridedCell]] = {}
    for cell in cells:
        if not cell.shape.is_known:
            pitch = None if cell.shape.is_dense else cell.shape.strided_pitch_bytes
            groups.setdefault((cell.direction, cell.host_memory, *cell.layouts, pitch), []).append(cell)
    grids = []
    for chosen in groups.values():
        first = chosen[0]
        by_key = {(cell.shape.width_bytes, cell.rows): cell for cell in chosen}
        grid = StridedGrid(
            first.direction,
            first.host_memory,
            *first.layouts,
            pitch_bytes=None if first.shape.is_dense else first.shape.strided_pitch_bytes,
            cells=dict(sorted(by_key.items())),
            table=_table(by_key),
        )
        if grid.measured:
            grids.append(grid)
    return grids


def _table(cells: Mapping[GridKey, StridedCell]) -> MethodTable:
    seconds: dict[str, dict[tuple[float, float], float]] = {}
    for key, cell in cells.items():
        for method, point in cell.compared.items():
            seconds.setdefault(method, {})[key] = point.seconds.median
    return MethodTable(seconds)
