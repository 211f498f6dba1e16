"""Sections of arrays: what each method takes for one of them, one way, from or to one kind of memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from isthmus.analysis.pieces.alignment import without_misaligned
from isthmus.analysis.pieces.method_cell import MethodCell, threads_that_pack
from isthmus.analysis.statistics.contrast import ratio
from isthmus.analysis.statistics.curve import ONE_WAY, Point, case_point, is_resolved
from isthmus.analysis.statistics.once import once
from isthmus.record import Case, Direction, Interval, LayoutName, Run, kind_rank

__all__ = [
    "DOUBLE",
    "DRIVER",
    "STRIDED_METHODS",
    "WHOLE",
    "Shape",
    "StridedCell",
    "strided_cells",
]

# The plainest first; `mapped_kernel` works on mapped memory where kernels reach no other.
STRIDED_METHODS = (
    "section",
    "copies",
    "batch",
    "whole",
    "device_pack",
    "kernel",
    "mapped_kernel",
    "pack",
    "pack_threads",
    "pack_kernel",
)
# What every other method is compared with: the driver's 2-D or 3-D copy.
DRIVER = "section"
# Copies what lies between the rows too, and so overwrites what the destination has there: no substitute for the others.
WHOLE = "whole"
DOUBLE = 8


class Shape(NamedTuple):
    """Rows and where they lie; pitches in bytes, those of slices 0 where there is one slice."""

    width_bytes: int
    rows: int
    slices: int
    pitch_bytes: int
    slice_pitch_bytes: int
    device_pitch_bytes: int
    device_slice_pitch_bytes: int

    @property
    def strided_pitch_bytes(self) -> int:
        """From one row to the next where they lie furthest apart."""
        return max(self.pitch_bytes, self.device_pitch_bytes)

    @property
    def is_dense(self) -> bool:
        """Whether every other stretch of the array is asked for."""
        return self.strided_pitch_bytes == 2 * self.width_bytes

    @property
    def is_known(self) -> bool:
        """Whether it was cut out of an array that programs have, and is no point of a grid.

        The pitches of grids are twice the width, or powers of two.
        """
        pitch = self.strided_pitch_bytes
        return self.slices > 1 or not (self.is_dense or pitch & (pitch - 1) == 0)


@dataclass(frozen=True)
class StridedCell(MethodCell):
    """What each method takes for one section, one way, from or to one kind of host memory.

    `moved` are the bytes that cross the link, `threads` those of `pack_threads` and `pack_kernel`, 0 where neither was
    measured. Rates of points are of the bytes asked for.
    """

    direction: Direction
    host_memory: str
    host_layout: LayoutName
    device_layout: LayoutName
    shape: Shape
    moved: Mapping[str, int]
    threads: int

    @property
    def bytes(self) -> int:
        """What is asked for."""
        return self.shape.width_bytes * self.rows

    @property
    def rows(self) -> int:
        """Those of all slices."""
        return self.shape.rows * self.shape.slices

    @property
    def layouts(self) -> tuple[LayoutName, LayoutName]:
        """The host's and the device's."""
        return self.host_layout, self.device_layout

    @property
    def compared(self) -> Mapping[str, Point]:
        """The points but for WHOLE, which does more to the destination than was asked for."""
        return {method: point for method, point in self.points.items() if method != WHOLE}

    def gain(self, method: str) -> Interval | None:
        """How many times as fast as the driver's copy a method is; None where either was not measured."""
        if method not in self.points or DRIVER not in self.points:
            return None
        return ratio(self.points[method].rate, self.points[DRIVER].rate)


@once()
def strided_cells(run: Run) -> Sequence[StridedCell]:
    """All sections of a run, pinned memory first; without those of which nothing was measured.

    Those that only show what alignment costs are left out: `alignment_pairs` has them.

    Mapped memory stands in for pinned memory where kernels reach no other, and counts as one of its methods.
    """
    target = run.settings.target_relative_half_width
    groups: dict[tuple[object, ...], list[Case]] = {}
    for case in without_misaligned(run.cases):
        if case.experiment == "strided" and case.direction in ONE_WAY and (case.skipped or is_resolved(case)):
            named = _named(case)
            layouts = case.host_layout, case.device_layout
            groups.setdefault((named.host_memory, case.direction, *layouts, _shape(case)), []).append(named)
    found = [_cell(cases, target) for cases in groups.values()]
    return sorted((cell for cell in found if cell.points or cell.failed), key=_place)


def _named(case: Case) -> Case:
    if case.host_memory != "mapped":
        return case
    return msgspec.structs.replace(case, method=f"mapped_{case.method}", host_memory="pinned")


def _shape(case: Case) -> Shape:
    return Shape(
        case.width_bytes or 0,
        case.rows or 0,
        case.slices or 1,
        case.pitch_bytes or 0,
        case.slice_pitch_bytes or 0,
        case.device_pitch_bytes or 0,
        case.device_slice_pitch_bytes or 0,
    )


def _cell(cases: list[Case], target: float) -> StridedCell:
    first = cases[0]
    assert first.direction is not None
    points = {case.method: case_point(case, target) for case in cases if not case.skipped}
    return StridedCell(
        direction=first.direction,
        host_memory=first.host_memory,
        host_layout=first.host_layout,
        device_layout=first.device_layout,
        shape=_shape(first),
        points={method: point for method, point in points.items() if point.verified != "no"},
        failed={method: point for method, point in points.items() if point.verified == "no"},
        skipped={case.method: case.note for case in cases if case.skipped},
        moved={case.method: case.moved_bytes or case.bytes for case in cases},
        threads=threads_that_pack(cases),
    )


def _place(cell: StridedCell) -> tuple[object, ...]:
    apart = (cell.host_layout == "strided", cell.device_layout == "strided")
    return (
        cell.host_memory != "pinned",
        kind_rank(cell.host_memory),
        cell.host_memory,
        apart,
        cell.shape.slices > 1,
        cell.shape.is_dense,
        -cell.direction.count("d2h"),
        cell.shape,
    )
