"""Surfaces of the batching experiment: how fast each method moves so many pieces of so many bytes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from isthmus.analysis.pieces.alignment import without_misaligned
from isthmus.analysis.pieces.method_cell import MethodCell, threads_that_pack
from isthmus.analysis.pieces.method_table import MethodTable, method_table
from isthmus.analysis.statistics.contrast import ratio
from isthmus.analysis.statistics.curve import ONE_WAY, Point, case_point, is_resolved
from isthmus.analysis.statistics.once import once
from isthmus.record import KIB, Case, Direction, Interval, LayoutName, Run, kind_rank

__all__ = [
    "LOOP",
    "LOOPS",
    "PIECE_METHODS",
    "TYPICAL_PIECES",
    "BatchingCell",
    "BatchingSurface",
    "CellKey",
    "batching_surfaces",
    "batching_tables",
    "plainest_surfaces",
]

# The plainest first; `mapped_kernel` works on mapped memory where kernels reach no other.
PIECE_METHODS = (
    "waited_copies",
    "copies",
    "graph",
    "batch",
    "device_pack",
    "pack",
    "pack_threads",
    "pack_kernel",
    "kernel",
    "mapped_kernel",
)
# What every other method is compared with: what programs do that know of nothing better.
LOOP = "copies"
LOOPS = ("waited_copies", LOOP)

# Bytes of a piece, number of pieces.
CellKey = tuple[int, int]
# Direction, the host's memory, layouts of the host and of the device.
SettingKey = tuple[Direction, str, LayoutName, LayoutName]
TYPICAL_PIECES: CellKey = (4 * KIB, 4096)


@dataclass(frozen=True)
class BatchingCell(MethodCell):
    """What each method takes for so many pieces of so many bytes."""

    piece_bytes: int
    pieces: int

    @property
    def gain(self) -> Interval | None:
        """How many times as fast as the loop of copies the fastest is; None where that was not measured."""
        return ratio(self.best.rate, self.points[LOOP].rate) if LOOP in self.points else None


@dataclass(frozen=True)
class BatchingSurface:
    """The cells of one direction, kind of host memory and pair of layouts; there is a point at least.

    `refused` has the reasons of the methods that the device or the layouts rule out. `threads` are those of
    `pack_threads` and `pack_kernel`, 0 where neither was measured.
    """

    direction: Direction
    host_memory: str
    host_layout: LayoutName
    device_layout: LayoutName
    cells: Mapping[CellKey, BatchingCell]
    refused: Mapping[str, str]
    table: MethodTable
    threads: int

    @property
    def sizes(self) -> list[int]:
        """Bytes of a piece, ascending."""
        return sorted({size for size, _ in self.measured})

    @property
    def counts(self) -> list[int]:
        """Numbers of pieces, ascending."""
        return sorted({count for _, count in self.measured})

    @cached_property
    def measured(self) -> dict[CellKey, BatchingCell]:
        """The cells with a point, but for those where methods cannot be compared though they are elsewhere."""
        found = {key: cell for key, cell in self.cells.items() if cell.points}
        compared = {key: cell for key, cell in found.items() if len(cell.points) > 1}
        return compared or found

    @property
    def methods(self) -> list[str]:
        """Those with points, the plainest first."""
        found = {method for cell in self.cells.values() for method in cell.points}
        return [method for method in PIECE_METHODS if method in found]

    @cached_property
    def typical(self) -> CellKey | None:
        """The cell nearest to 4096 pieces of 4 KiB where several pieces were moved by the loop and another method."""
        known = [
            key for key, cell in self.cells.items() if cell.pieces > 1 and LOOP in cell.points and len(cell.points) > 1
        ]
        return min(known, key=_away, default=None)

    def along_counts(self, size: int, method: str) -> dict[int, Point]:
        """A method's points by the number of pieces, for pieces of one size."""
        found = {count: cell.points for (each, count), cell in self.cells.items() if each == size}
        return {count: points[method] for count, points in sorted(found.items()) if method in points}

    def along_sizes(self, count: int, method: str) -> dict[int, Point]:
        """A method's points by the bytes of a piece, for one number of pieces."""
        found = {size: cell.points for (size, each), cell in self.cells.items() if each == count}
        return {size: points[method] for size, points in sorted(found.items()) if method in points}


@once()
def batching_surfaces(run: Run) -> Sequence[BatchingSurface]:
    """The surfaces of a run: scattered pieces first, then by memory and direction.

    Cells that only show what alignment costs are left out: `alignment_pairs` has them.

    Mapped memory stands in for pinned memory where kernels reach no other, and counts as one of its methods.
    """
    target = run.settings.target_relative_half_width
    found = []
    for (direction, memory, host, device), cases in _settings([run]).items():
        refused = {case.method: case.note for case in cases if case.skipped and not case.pieces}
        threads = threads_that_pack(cases)
        surface = BatchingSurface(
            direction, memory, host, device, _cells(cases, target), refused, _table(cases), threads
        )
        if surface.measured:
            found.append(surface)
    return sorted(found, key=_place)


def plainest_surfaces(surfaces: Iterable[BatchingSurface]) -> list[BatchingSurface]:
    """Of each kind of memory those with the layouts that come first: scattered on both sides, where measured."""
    found = list(surfaces)
    first = {surface.host_memory: _layouts(surface) for surface in reversed(found)}
    return [surface for surface in found if _layouts(surface) == first[surface.host_memory]]


def batching_tables(runs: Sequence[Run]) -> dict[SettingKey, MethodTable]:
    """The tables of seconds by bytes of a piece and number of pieces; samples of several runs are taken together."""
    return {key: _table(cases) for key, cases in _settings(runs).items()}


def _table(cases: Iterable[Case]) -> MethodTable:
    return method_table(cases, lambda case: case.width_bytes, lambda case: case.pieces)


def _settings(runs: Iterable[Run]) -> dict[SettingKey, list[Case]]:
    groups: dict[SettingKey, list[Case]] = {}
    for case in (case for run in runs for case in without_misaligned(run.cases)):
        if case.experiment == "batching" and case.direction in ONE_WAY and (case.skipped or is_resolved(case)):
            memory = "pinned" if case.host_memory == "mapped" else case.host_memory
            groups.setdefault((case.direction, memory, case.host_layout, case.device_layout), []).append(_named(case))
    return groups


def _layouts(surface: BatchingSurface) -> tuple[LayoutName, LayoutName]:
    return surface.host_layout, surface.device_layout


def _away(key: CellKey) -> float:
    return math.hypot(*(math.log(ours / typical) for ours, typical in zip(key, TYPICAL_PIECES, strict=True)))


def _named(case: Case) -> Case:
    if case.host_memory != "mapped":
        return case
    return msgspec.structs.replace(case, method=f"mapped_{case.method}", host_memory="pinned")


def _cells(cases: Iterable[Case], target: float) -> dict[CellKey, BatchingCell]:
    groups: dict[CellKey, list[Case]] = {}
    for case in cases:
        if case.width_bytes and case.pieces:
            groups.setdefault((case.width_bytes, case.pieces), []).append(case)
    found = {}
    for key, of_cell in sorted(groups.items()):
        points = {case.method: case_point(case, target) for case in of_cell if not case.skipped}
        found[key] = BatchingCell(
            *key,
            points={method: point for method, point in points.items() if point.verified != "no"},
            failed={method: point for method, point in points.items() if point.verified == "no"},
            skipped={case.method: case.note for case in of_cell if case.skipped},
        )
    return found


def _place(surface: BatchingSurface) -> tuple[object, ...]:
    layouts = ("scattered", "strided", "contiguous")
    ranks = [layouts.index(each) if each in layouts else 3 for each in (surface.host_layout, surface.device_layout)]
    return *ranks, kind_rank(surface.host_memory), surface.host_memory, ONE_WAY.index(surface.direction)
