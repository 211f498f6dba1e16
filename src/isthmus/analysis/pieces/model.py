"""Pieces by their bytes and their number: surfaces of one direction, kind of memory and pair of layouts."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from isthmus.analysis.pieces.cell import BATCHING, PACKED_ON_THREADS, Cell, Key, Kind, Shape
from isthmus.analysis.statistics.curve import ONE_WAY, Point, case_point, is_resolved
from isthmus.analysis.statistics.once import once
from isthmus.grouping import grouped
from isthmus.record import Case, Direction, LayoutName, Run, kind_rank

# Direction, host memory and layouts.
_Setting = tuple[Direction | None, str, tuple[LayoutName, LayoutName]]
_EXPERIMENTS = {"batching", "strided"}
# Nothing moves in larger words: those of a GPU's threads have up to 16 bytes.
_LARGEST_UNIT = 16


@dataclass(frozen=True)
class Surface:
    """The cells of one direction, kind of host memory, pair of layouts and pitch; there is a point at least.

    `pitch_bytes` is None where it follows from the bytes of a piece. `refused` has the reasons of the methods that the
    device or the layouts rule out.
    """

    kind: Kind
    direction: Direction
    host_memory: str
    layouts: tuple[LayoutName, LayoutName]
    pitch_bytes: int | None
    cells: Mapping[Key, Cell]
    refused: Mapping[str, str]

    @cached_property
    def measured(self) -> dict[Key, Cell]:
        """The cells in which methods can be compared; where there are none, all with a point."""
        ranked = {key: cell for key, cell in self.cells.items() if cell.ranking}
        return {key: cell for key, cell in ranked.items() if len(cell.ranking) > 1} or ranked

    @property
    def sizes(self) -> list[int]:
        """Bytes of a piece, ascending."""
        return sorted({size for size, _ in self.measured})

    @property
    def counts(self) -> list[int]:
        """Numbers of pieces, ascending."""
        return sorted({count for _, count in self.measured})

    @property
    def methods(self) -> list[str]:
        """Those with points, the plainest first."""
        names = {method for cell in self.cells.values() for method in cell.points}
        return [method for method in self.kind.methods if method in names]

    @property
    def typical(self) -> Cell | None:
        """The cell nearest to the experiment's typical pieces that compares the incumbent with another method."""
        compared = (key for key, cell in self.cells.items() if cell.pieces > 1 and cell.gain and len(cell.ranking) > 1)
        nearest = min(compared, key=lambda key: _distance(key, self.kind.typical), default=None)
        return self.cells[nearest] if nearest else None

    def along_sizes(self, count: int, method: str) -> dict[int, Point]:
        """A method's points by the bytes of a piece, for one number of pieces."""
        return {size: point for (size, each), point in self._along(method) if each == count}

    def _along(self, method: str) -> list[tuple[Key, Point]]:
        return [(key, cell.points[method]) for key, cell in self.cells.items() if method in cell.points]


@once(kept=16)
def piece_cells(run: Run, kind: Kind) -> Sequence[Cell]:
    """All cells of an experiment, pinned memory first; without those of which nothing was measured.

    Cases that only show what alignment costs are left out.
    """
    pieces = (case for case in _cases(run, kind) if case.width_bytes and (case.pieces or case.rows))
    groups = grouped(pieces, lambda of: (of.direction, _memory(of), of.host_layout, of.device_layout, _shape(of)))
    cells = [_cell(kind, cases, run.settings.target_relative_half_width) for cases in groups.values()]
    return sorted((cell for cell in cells if cell.points or cell.failed), key=_place)


@once(kept=16)
def piece_surfaces(run: Run, kind: Kind) -> Sequence[Surface]:
    """The surfaces of an experiment with a point, in the order of their cells; known sections are no part of them."""
    refused: dict[_Setting, dict[str, str]] = {}
    for case in _cases(run, kind):
        if case.skipped and not (case.pieces or case.rows):
            setting = case.direction, _memory(case), (case.host_layout, case.device_layout)
            refused.setdefault(setting, {})[_method(case)] = case.note
    groups: dict[tuple[Direction, str, tuple[LayoutName, LayoutName], int | None], dict[Key, Cell]] = {}
    for cell in piece_cells(run, kind):
        if not cell.shape.is_known:
            pitch = None if cell.shape.is_dense else cell.shape.strided_pitch_bytes
            cells = groups.setdefault((cell.direction, cell.host_memory, cell.layouts, pitch), {})
            cells[cell.shape.width_bytes, cell.pieces] = cell
    surfaces = (
        Surface(kind, *setting, dict(sorted(cells.items())), refused.get(setting[:3], {}))
        for setting, cells in groups.items()
    )
    return [surface for surface in surfaces if surface.measured]


def main_surfaces(surfaces: Iterable[Surface]) -> list[Surface]:
    """Those to look at first: every kind of memory where pieces lie scattered, every layout of rows in pinned memory.

    Where something else comes first, that; of several pitches the one with the most points.
    """
    first: dict[str, object] = {}
    chosen: dict[tuple[object, ...], Surface] = {}
    for each in surfaces:
        fixed, value = (each.host_memory, each.layouts) if each.kind is BATCHING else ("", each.host_memory)
        key = each.host_memory, each.direction, each.layouts
        if first.setdefault(fixed, value) == value and (
            key not in chosen or len(each.measured) > len(chosen[key].measured)
        ):
            chosen[key] = each
    return list(chosen.values())


@once(kept=16)
def _cases(run: Run, kind: Kind) -> Sequence[Case]:
    own = [case for case in run.cases if case.experiment == kind.experiment and case.direction in ONE_WAY]
    return [case for case in without_misaligned(own) if case.skipped or is_resolved(case)]


def _memory(case: Case) -> str:
    return "pinned" if case.host_memory == "mapped" else case.host_memory


def _method(case: Case) -> str:
    return f"mapped_{case.method}" if case.host_memory == "mapped" else case.method


def _shape(case: Case) -> Shape:
    width = case.width_bytes or 0
    if case.experiment == BATCHING.experiment:
        return Shape(width, case.pieces or 0)
    pitches = (case.pitch_bytes, case.slice_pitch_bytes, case.device_pitch_bytes, case.device_slice_pitch_bytes)
    return Shape(width, case.rows or 0, case.slices or 1, *(pitch or 0 for pitch in pitches))


def _cell(kind: Kind, cases: Sequence[Case], target: float) -> Cell:
    first = cases[0]
    assert first.direction is not None
    points = {_method(case): case_point(case, target) for case in cases if not case.skipped}
    threads = (case.threads or 0 for case in cases if case.method in PACKED_ON_THREADS and not case.skipped)
    return Cell(
        kind,
        first.direction,
        _memory(first),
        (first.host_layout, first.device_layout),
        _shape(first),
        points={method: point for method, point in points.items() if point.case.verified != "no"},
        failed={method: point for method, point in points.items() if point.case.verified == "no"},
        skipped={_method(case): case.note for case in cases if case.skipped},
        moved={_method(case): case.moved_bytes or case.bytes for case in cases},
        threads=max(threads, default=0),
    )


def _distance(ours: Key, theirs: Key) -> float:
    return math.dist([math.log(each) for each in ours], [math.log(each) for each in theirs])


def _place(cell: Cell) -> tuple[object, ...]:
    memory = cell.host_memory != "pinned", kind_rank(cell.host_memory)
    order = cell.kind.layouts
    layouts = tuple(order.index(each) if each in order else len(order) for each in cell.layouts)
    direction = ONE_WAY.index(cell.direction)
    return layouts, memory, cell.host_memory, cell.shape.slices > 1, cell.shape.is_dense, direction, cell.shape


def alignment_unit(*sizes: int) -> int:
    """The largest power of two, 16 at most, that divides all sizes, pitches and addresses given; they are positive."""
    return next(unit for unit in (_LARGEST_UNIT, 8, 4, 2, 1) if not any(size % unit for size in sizes))


def natural_unit(each_bytes: int) -> int:
    """The largest unit that fits into a piece, 16 at most: what the best pitch and size near it would be aligned to."""
    return min(1 << each_bytes.bit_length() - 1, _LARGEST_UNIT)


def without_misaligned(cases: Sequence[Case]) -> list[Case]:
    """Drops misaligned cases whose aligned neighbour, smaller by a unit, was measured too."""
    known = {_key(case) for case in cases if _is_flat(case)}
    return [case for case in cases if not (_is_flat(case) and _is_extra(case, known))]


def _is_flat(case: Case) -> bool:
    return case.experiment in _EXPERIMENTS and bool(case.width_bytes) and case.slices is None


def _is_extra(case: Case, known: set[tuple[object, ...]]) -> bool:
    width = case.width_bytes or 0
    sizes = (width, case.stride_bytes, case.pitch_bytes, case.device_pitch_bytes)
    unit = alignment_unit(*(size for size in sizes if size))
    return unit < natural_unit(width) and _key(case, less=unit) in known


def _key(case: Case, less: int = 0) -> tuple[object, ...]:
    """What tells a case from others; as of pieces that are smaller by `less`, with pitches that follow suit."""
    width = case.width_bytes or 0
    pitches = (case.stride_bytes, case.pitch_bytes, case.device_pitch_bytes)
    smaller = (pitch and (pitch - pitch // width * less if pitch % width == 0 else pitch) for pitch in pitches)
    about = (case.experiment, case.method, case.direction, case.host_memory, case.host_layout, case.device_layout)
    return *about, case.pieces, case.rows, width - less, *smaller
