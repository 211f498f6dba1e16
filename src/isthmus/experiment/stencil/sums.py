"""Sums of a stencil's points, by which ranks' results are compared with those that are computed without exchanges."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from isthmus import _native
from isthmus.experiment.engine.doubles import Doubles, doubles
from isthmus.experiment.stencil.points import DOUBLE, Cut, Section, Tile
from isthmus.record import MIB

WORD = (1 << 64) - 1
_CHECKED_AT_ONCE_BYTES = 64 * MIB
_MOST_BAND_BYTES = 256 * MIB


class Checksum(NamedTuple):
    """Sums of 64-bit words modulo 2**64: of a rank's own points, and of its halos less what it sent for others'.

    What comes in was sent by somebody, so that over all ranks the second makes 0.
    """

    points: int
    halos: int


def checksum(device: _native.Device, stream: _native.Stream, array: _native.Buffer, tile: Tile) -> Checksum:
    """The checksum of an array of this tile."""
    sections = [tile.own]
    for border in tile.borders:
        sections += [border.halo, border.edge]
    own, *borders = _sums(device, stream, array, (tile.height, tile.width), sections)
    return Checksum(own, (sum(borders[::2]) - sum(borders[1::2])) & WORD)


def reference(device: _native.Device, cut: Cut, rank: int, ranks: int, most_bytes: int) -> int:
    """This rank's share of the sum of all points as they come out without any exchange; all ranks' make up the field's.

    The field is computed band by band of columns, each with as many on either side as its points depend on, so that
    none of it comes from elsewhere, in two arrays of `most_bytes` together.
    """
    array_bytes = min(most_bytes // 2, _MOST_BAND_BYTES)
    most_columns = array_bytes // (cut.rows * DOUBLE) - 2 * cut.iterations
    columns = max(1, min(most_columns, -(-cut.columns // ranks)))
    bands = range(rank * columns, cut.columns, ranks * columns)
    if not bands:
        return 0
    stream = _native.Stream(device)
    size = cut.rows * (columns + 2 * cut.iterations) * DOUBLE
    pair = device.allocate("device", size), device.allocate("device", size)
    return sum(_band(device, stream, pair, cut, first, min(columns, cut.columns - first)) for first in bands) & WORD


def _band(
    device: _native.Device,
    stream: _native.Stream,
    pair: tuple[_native.Buffer, _native.Buffer],
    cut: Cut,
    first: int,
    columns: int,
) -> int:
    width = columns + 2 * cut.iterations
    from_, to = pair
    stream.fill_ramp(from_, cut.rows, width, (first - cut.iterations) % cut.columns, cut.columns)
    for _ in range(cut.iterations):
        # What the outermost columns lack gets one column further each time, and so just not to the band.
        stream.laplacian(to, from_, cut.rows, width, 1)
        from_, to = to, from_
    stream.synchronize()
    return _sums(device, stream, from_, (cut.rows, width), [Section(0, cut.iterations, cut.rows, columns)])[0]


def _sums(
    device: _native.Device,
    stream: _native.Stream,
    array: _native.Buffer,
    shape: tuple[int, int],
    sections: Sequence[Section],
) -> list[int]:
    """The sum of the words of each section, modulo 2**64; any order gives the same."""
    rows, width = shape
    if array.kind == "managed":
        array.begin_host_access()
        sums = _sums_of_rows(doubles(array)[: rows * width], 0, width, sections)
        array.end_host_access()
        return sums
    # Rows come to the host in parts, lest it need room for all.
    pitch = width * DOUBLE
    at_once = max(1, min(rows, _CHECKED_AT_ONCE_BYTES // pitch))
    part = device.allocate("pageable", at_once * pitch)
    totals = [0] * len(sections)
    for first in range(0, rows, at_once):
        count = min(at_once, rows - first)
        stream.copy(part, 0, array, first * pitch, count * pitch)
        stream.synchronize()
        part.begin_host_access()
        sums = _sums_of_rows(doubles(part)[: count * width], first, width, sections)
        part.end_host_access()
        totals = [total + each for total, each in zip(totals, sums, strict=True)]
    return [total & WORD for total in totals]


def _sums_of_rows(values: Doubles, first_row: int, width: int, sections: Sequence[Section]) -> list[int]:
    """What these rows hold of each section."""
    words = values.view(np.uint64).reshape(-1, width)

    def of(section: Section) -> int:
        begin, end = (max(0, row - first_row) for row in (section.row, section.row + section.rows))
        return int(words[begin:end, section.column : section.column + section.columns].sum(dtype=np.uint64))

    return [of(section) for section in sections]
