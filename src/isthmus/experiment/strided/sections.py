"""The sections of arrays to measure: a grid of widths, rows and pitches, and sections as programs know them."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from isthmus.experiment.engine.buffers import PAGE_BYTES
from isthmus.experiment.engine.options import ModeName
from isthmus.experiment.engine.pieces import Extent, Place
from isthmus.record import GIB, KIB, MIB, Case, Direction, LayoutName

_DOUBLE = 8
# What lies before the first piece of a destination is checked too.
_START = PAGE_BYTES

_ROWS = (1, 32, KIB, 32 * KIB, MIB)
# A row of a typical array, and one that no two pieces of share a page of any size below 1 MiB.
_ARRAY_PITCH, _FAR_PITCH = 32 * KIB, MIB

# Where both sides are strided: the others are what they are with one strided side.
_ON_BOTH_SIDES = ("section", "whole", "kernel", "pack_threads", "pack_kernel")

# Rows of the grid, and how many bytes wider their twins are, which no larger power of two divides: elements of arrays.
_ALIGNED_WIDTHS, _ALIGNED_ROWS = (256, 4 * KIB), KIB
_ELEMENT_BYTES = (1, 2, 4, 8)
# What such rows may cost more with: what other methods do with them, pieces in `batching` show.
_ALIGNMENT_METHODS = ("section", "kernel", "device_pack", "pack_kernel")

# Threads pack pageable memory: they join in from some amount on, and the coarse part of the grid ends before.
_WIDE = Extent(64 * KIB, 512)

# One column of doubles out of a row-major array, as in M. Harris' and TEMPI's examples of what 2-D copies are slow at.
_COLUMN_ROWS, _COLUMN_PITCH = 30720, 34952
# A square array of doubles of 2048 cells a side with a halo of one.
_HALO_SIDE, _HALO_WIDTHS = 2050, (1, 2, 4)
# A cube of doubles, and what its halo of one encloses.
_CUBE_SIDE, _BOX_SIDE = 64, 62
# What cuMemAllocPitch makes rows a multiple of.
_PADDING = 512


class Section(NamedTuple):
    """Rows of an array, and where they lie on either side.

    A `known` one is such as programs have. Every method is measured, or those of `methods` if there are some.
    """

    extent: Extent
    host: Place
    device: Place
    known: bool = False
    directions: Sequence[Direction] = ("h2d", "d2h")
    methods: Sequence[str] = ()

    @classmethod
    def of(cls, case: Case) -> "Section":
        """The rows of a case. What has rows around it is the inside of an array with a halo of one double."""
        extent = Extent(case.width_bytes or 0, case.rows or 0, case.slices or 1)

        def place(pitch: int, slice_pitch: int) -> Place:
            is_inside = extent.rows * pitch < slice_pitch
            return Place(_START + (slice_pitch + pitch + _DOUBLE if is_inside else 0), pitch, slice_pitch)

        return cls(
            extent,
            place(case.pitch_bytes or 0, case.slice_pitch_bytes or 0),
            place(case.device_pitch_bytes or 0, case.device_slice_pitch_bytes or 0),
        )

    @property
    def bytes(self) -> int:
        """What is asked for."""
        return self.extent.width_bytes * self.rows

    @property
    def rows(self) -> int:
        """Those of all slices."""
        return self.extent.rows * self.extent.slices

    @property
    def host_layout(self) -> LayoutName:
        """How the rows lie in host memory."""
        return _layout(self.host, self.extent)

    @property
    def device_layout(self) -> LayoutName:
        """How the rows lie on the device."""
        return _layout(self.device, self.extent)

    @property
    def is_alike(self) -> bool:
        """Whether both sides have one layout, so that all between the rows can be copied with them."""
        return self.host[1:3] == self.device[1:3]

    @property
    def span_bytes(self) -> int:
        """From the first byte to the last on the side where they lie further apart."""
        return max(self.host.span_bytes(self.extent), self.device.span_bytes(self.extent))


class Bounds(NamedTuple):
    """What keeps the time of a mode within its limits; bytes, but for counts of rows."""

    section_bytes: int  # asked for
    span_bytes: int
    known_span_bytes: int  # of known sections
    coarse_span_bytes: int  # of all but pinned memory with one strided side
    pageable_span_bytes: int  # looked at after a transfer of pageable memory
    rows: int
    evicted_rows: int  # of which the caches are emptied before each sample
    calls: int  # a row each
    known_calls: int  # the same of known sections
    few: bool = False  # only the coarse part of the grid, and one of all halos


def bounds_of(mode: ModeName, shares_host_memory: bool) -> Bounds:
    """The bounds of a mode; tighter where device memory is host memory, on machines that are small as a rule."""
    if mode == "full":
        most, known = (64 * MIB, 64 * MIB) if shares_host_memory else (256 * MIB, 2 * GIB)
        return Bounds(64 * MIB, most, known, most, 2 * GIB, MIB, MIB, 8 * KIB, 8 * KIB)
    if mode == "quick":
        return Bounds(16 * MIB, 32 * MIB, 64 * MIB, 32 * MIB, 64 * MIB, KIB, 4 * KIB, 256, 256, few=True)
    if shares_host_memory:
        return Bounds(16 * MIB, 8 * MIB, 64 * MIB, 8 * MIB, 64 * MIB, 4 * KIB, 4 * KIB, 256, 4 * KIB, few=True)
    return Bounds(64 * MIB, 64 * MIB, 2 * GIB, 32 * MIB, 256 * MIB, MIB, 32 * KIB, KIB, 4 * KIB)


def grid_sections(widths: Sequence[int], mode: ModeName, bounds: Bounds) -> Iterator[tuple[Section, bool]]:
    """Every section of the grid, and whether it is of the coarse part: what every memory and layout is measured with.

    Where the sides differ, one of them is contiguous.
    """
    some = widths[1::2] or widths
    for width in widths:
        dense = 2 * width
        known = (_ARRAY_PITCH,) if mode == "quick" else (dense, _ARRAY_PITCH, _FAR_PITCH)
        for pitch in sorted({pitch for pitch in known if pitch >= dense} or {dense}):
            for rows in _row_counts(width, pitch, mode, bounds):
                extent = Extent(width, rows)
                is_coarse = width in some and rows <= 32 * KIB and pitch <= _ARRAY_PITCH
                if mode == "default" and width not in some and (pitch == _FAR_PITCH or bounds.few):
                    continue
                apart, tight = _strided(pitch), _tight(extent)
                yield Section(extent, apart, tight), is_coarse
                if rows > 1:
                    yield Section(extent, tight, apart), is_coarse
                if rows > 1 and mode != "quick":
                    methods = () if mode == "full" else _ON_BOTH_SIDES
                    yield Section(extent, apart, apart, methods=methods), is_coarse


def alignment_sections(mode: ModeName) -> list[Section]:
    """Sections of the grid whose rows, and the stretch from one to the next, are a few bytes wider."""
    sections = []
    if mode != "quick":
        for width, more in product(_ALIGNED_WIDTHS, _ELEMENT_BYTES):
            extent = Extent(width + more, _ALIGNED_ROWS)
            apart, tight = _strided(2 * extent.width_bytes), _tight(extent)
            sections.append(Section(extent, apart, tight, methods=_ALIGNMENT_METHODS))
            sections.append(Section(extent, tight, apart, methods=_ALIGNMENT_METHODS))
    return sections


def wide_sections(mode: ModeName, shares_host_memory: bool) -> list[Section]:
    """Sections of wide rows, 32 MiB in all, for pageable memory; with ``full`` the grid has them."""
    if mode != "default" or shares_host_memory:
        return []
    apart, tight = _strided(2 * _WIDE.width_bytes), _tight(_WIDE)
    return [Section(_WIDE, *places) for places in ((apart, tight), (tight, apart), (apart, apart))]


def known_sections(mode: ModeName, bounds: Bounds) -> list[Section]:
    """A column, halos, a box and a face, each as programs move them; with ``quick`` one of each, the face left out."""
    column = Extent(_DOUBLE, _COLUMN_ROWS)
    apart = _strided(_COLUMN_PITCH)
    sections = [
        Section(column, _tight(column), apart, known=True),
        # For what copying the whole array costs, which takes long to check, one way is enough.
        Section(column, apart, apart, known=True, directions=("d2h",), methods=("section", "whole")),
    ]
    for doubles in _HALO_WIDTHS[:1] if bounds.few else _HALO_WIDTHS:
        halo = Extent(doubles * _DOUBLE, _HALO_SIDE)
        apart = _strided(_HALO_SIDE * _DOUBLE)
        sections += [Section(halo, _tight(halo), apart, known=True), Section(halo, apart, apart, known=True)]
    return [*sections, *_of_cube()] if mode != "quick" else [sections[0], *sections[2:], _of_cube()[0]]


def _of_cube() -> list[Section]:
    row = _CUBE_SIDE * _DOUBLE
    slice_bytes = _CUBE_SIDE * row
    box = Extent(_BOX_SIDE * _DOUBLE, _BOX_SIDE, _BOX_SIDE)
    inner = Place(_START + slice_bytes + row + _DOUBLE, row, slice_bytes)
    padded_row = -(-box.width_bytes // _PADDING) * _PADDING
    padded = Place(_START, padded_row, _BOX_SIDE * padded_row)
    face = Extent(_DOUBLE, _CUBE_SIDE, _CUBE_SIDE)
    side = Place(_START, row, slice_bytes)
    pairs = [
        (box, _tight(box), inner),
        (box, inner, inner),
        # An array of the box's own size, whose rows are padded or not.
        (box, inner, _tight(box)),
        (box, inner, padded),
        (face, _tight(face), side),
        (face, side, side),
    ]
    return [Section(extent, host, device, known=True) for extent, host, device in pairs]


def _row_counts(width: int, pitch: int, mode: ModeName, bounds: Bounds) -> list[int]:
    """So many rows as the bounds allow, the most of them included where it is a step of its own."""
    most = min(bounds.section_bytes // width, bounds.span_bytes // pitch, bounds.rows)
    counts = [rows for rows in (_ROWS[1:] if mode == "quick" else _ROWS) if rows <= most]
    last = 1 << most.bit_length() - 1 if most else 0
    if counts and 1 < counts[-1] <= last // 4:
        counts.append(last)
    # A single row has no pitch: once is enough. It covers widths that the bounds rule out, too.
    return [rows for rows in counts or [1] if rows > 1 or pitch == 2 * width]


def _strided(pitch: int) -> Place:
    return Place(_START, pitch)


def _tight(extent: Extent) -> Place:
    return Place(_START, extent.width_bytes, extent.rows * extent.width_bytes if extent.slices > 1 else 0)


def _layout(place: Place, extent: Extent) -> LayoutName:
    within = place.pitch_bytes == extent.width_bytes
    between = extent.slices == 1 or place.slice_pitch_bytes == extent.rows * extent.width_bytes
    return "contiguous" if within and between else "strided"
