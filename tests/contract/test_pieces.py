"""Pieces of every layout arrive by every method, whole and alone; what cannot be is refused before anything moves."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from isthmus import _native
from isthmus.errors import CallFailed, Unsupported, UsageError
from isthmus.experiment.engine.pieces import METHODS, Extent, Place
from isthmus.machine.devices import open_device
from isthmus.record import KIB, MIB

SIZE = 4 * MIB
LARGEST_PIECE = 100 * KIB
NONE = 2**64 - 1
# No piece differs, and no byte was written outside.
ARRIVED = [(0, NONE), (0, 0)]
_KINDS = ("pageable", "pinned", "mapped")
# Slices of few rows, rows of odd sizes, one piece, many, and pieces that are larger than a chunk of a pipeline.
EXTENTS = [Extent(1, 1), Extent(1, 300), Extent(3, 90), Extent(8, 13, 7), Extent(24, 100), Extent(LARGEST_PIECE, 3)]
MakePieces = Callable[..., _native.PieceTransfer]


def places(extent: Extent, rng: np.random.Generator) -> dict[str, Place]:
    """One place of each layout, none of which begins where its buffer does."""
    width, rows, slices = extent
    pitch = width + 16 - width % 16
    scattered = rng.permutation(rows * slices + 3)[: rows * slices].astype(np.uint64) * np.uint64(pitch)
    return {
        "contiguous": Place(64, width, rows * width),
        "strided": Place(48, pitch, (rows + 1) * pitch),
        "scattered": Place(32, offsets=scattered),
    }


class Buffers:
    """What all transfers of a device share: two buffers of each kind, of which one holds the pattern."""

    def __init__(self, device: _native.Device) -> None:
        self.sources, self.destinations = {}, {}
        for kind in ("device", *_KINDS):
            if device.why_not(kind) is None:
                self.sources[kind] = device.allocate(kind, SIZE)
                self.sources[kind].fill_pattern(0, SIZE, 7)
                self.destinations[kind] = device.allocate(kind, SIZE)
        self.reference = self.sources["pageable"]
        self.staging = _native.create_staging(device, SIZE, 3, 5000)


@pytest.fixture(scope="module")
def buffers(device: _native.Device) -> Buffers:
    return Buffers(device)


def large_buffers(device: _native.Device, way: str, span: int) -> list[_native.Buffer]:
    """What a copy writes to, what it reads, which holds the pattern, and host memory with the same."""
    kinds = ("device", "pageable", "pageable") if way == "h2d" else ("pageable", "device", "pageable")
    destination, *patterned = (device.allocate(kind, span) for kind in kinds)
    for each in patterned:
        each.fill_pattern(0, span, 5)
    return [destination, *patterned]


@pytest.fixture
def pieces(device: _native.Device, buffers: Buffers) -> MakePieces:
    def pieces(method: str, way: str, kind: str, extent: Extent, to: Place, from_: Place) -> _native.PieceTransfer:
        if reason := device.why_not(kind):
            pytest.skip(reason)
        source = buffers.sources[kind if way == "h2d" else "device"]
        destination = buffers.destinations["device" if way == "h2d" else kind]
        return _native.create_pieces(
            method, (destination, *to), (source, *from_), extent, buffers.reference, buffers.staging
        )

    return pieces


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("way", ["h2d", "d2h"])
@pytest.mark.parametrize("method", [*METHODS, "isthmus"])
def test_every_piece_arrives_and_nothing_else_changes(pieces: MakePieces, method: str, way: str, kind: str) -> None:
    rng = np.random.default_rng(3)
    reasons, arrived = set(), 0
    for extent in EXTENTS:
        sides = places(extent, rng)
        for to in sides.values():
            for from_ in sides.values():
                try:
                    transfer = pieces(method, way, kind, extent, to, from_)
                    transfer.poison()
                    assert len(transfer.run(1, 2, 2, 0.0)["host_seconds"]) == 2
                except Unsupported as error:
                    reasons.add(str(error))
                    continue
                assert transfer.verify() == ARRIVED, (extent, to, from_)
                arrived += 1
    if not arrived:
        pytest.skip("; ".join(sorted(reasons)))


@pytest.mark.parametrize("way", ["h2d", "d2h"])
@pytest.mark.parametrize("method", ["pack_threads", "pack_kernel"])
def test_chunks_may_end_within_a_piece(pieces: MakePieces, method: str, way: str) -> None:
    for extent in (Extent(3, 120_000), Extent(24, 30_000)):
        sides = places(extent, np.random.default_rng(4))
        for to, from_ in (("strided", "strided"), ("strided", "contiguous"), ("contiguous", "strided")):
            try:
                transfer = pieces(method, way, "pageable", extent, sides[to], sides[from_])
            except Unsupported as error:
                pytest.skip(str(error))
            transfer.poison()
            transfer.run(0, 2, 2, 0.0)
            assert transfer.verify() == ARRIVED, (extent, to, from_)


@pytest.mark.parametrize("way", ["h2d", "d2h"])
@pytest.mark.parametrize("method", ["pack", "pack_threads", "pack_kernel", "device_pack", "kernel"])
def test_long_pieces_of_every_layout(device: _native.Device, method: str, way: str) -> None:
    """From 4 MiB on the driver copies each by itself, where it is no kernel that moves them; twice, round the ring."""
    extent = Extent((4 << 20) + 4099, 2, 2)
    sides, span = places(extent, np.random.default_rng(8)), 8 * extent.width_bytes
    destination, source, reference = large_buffers(device, way, span)
    staging = _native.create_staging(device, 18 * MIB, 3, 8)
    reasons = set()
    for to, from_ in itertools.product(sides.values(), repeat=2):
        try:
            transfer = _native.create_pieces(method, (destination, *to), (source, *from_), extent, reference, staging)
            transfer.poison()
            transfer.run(0, 2, 2, 0.0)
        except Unsupported as error:
            reasons.add(str(error))
            continue
        assert transfer.verify() == ARRIVED, (to, from_)
    if len(reasons) == len(sides) ** 2:
        pytest.skip("; ".join(sorted(reasons)))


@pytest.mark.parametrize("way", ["h2d", "d2h"])
@pytest.mark.parametrize("method", ["pack_threads", "pack_kernel"])
def test_chunks_go_round_the_ring(device: _native.Device, method: str, way: str) -> None:
    # Sixteen chunks of 2 MiB fit in, so that the places of the first five are taken again.
    extent, places = Extent(4096, 41 * 256 + 1), [Place(0, 4096 + 16), Place(4096, 4096 + 32)]
    span = 2 * 4096 + extent.rows * (4096 + 32)
    destination, source, reference = large_buffers(device, way, span)
    staging = _native.create_staging(device, extent.width_bytes * extent.rows, 3, 1)
    try:
        transfer = _native.create_pieces(
            method, (destination, *places[0]), (source, *places[1]), extent, reference, staging
        )
    except Unsupported as error:
        pytest.skip(str(error))
    transfer.poison()
    transfer.run(0, 2, 2, 0.0)
    assert transfer.verify() == ARRIVED


@pytest.mark.parametrize("way", ["h2d", "d2h"])
@pytest.mark.parametrize("method", ["section", "kernel", "pack"])
def test_slices_of_one_row_need_no_pitch(pieces: MakePieces, method: str, way: str) -> None:
    try:
        transfer = pieces(method, way, "pinned", Extent(16, 1, 6), Place(0, 0, 48), Place(64, 8, 16))
    except Unsupported as error:
        pytest.skip(str(error))
    transfer.poison()
    transfer.run(0, 1, 1, 0.0)
    assert transfer.verify() == ARRIVED


@pytest.mark.parametrize("way", ["h2d", "d2h"])
@pytest.mark.parametrize("extent", [Extent(8, 50), Extent(8, 5, 10), Extent(8, 1, 10), Extent(8, 1)])
def test_a_section_may_end_where_its_memory_does(pieces: MakePieces, way: str, extent: Extent) -> None:
    pitch, slice_pitch = 4096, 5 * 4096
    span = (extent.slices - 1) * slice_pitch + (extent.rows - 1) * pitch + 8
    apart = Place(SIZE - span, pitch, slice_pitch)
    for to, from_ in ((apart, apart), (apart, Place(0, 8, extent.rows * 8)), (Place(0, 8, extent.rows * 8), apart)):
        transfer = pieces("section", way, "pinned", extent, to, from_)
        transfer.poison()
        transfer.run(0, 1, 1, 0.0)
        assert transfer.verify() == ARRIVED


def test_a_slice_pitch_that_is_no_multiple_of_the_pitch_has_no_3d_copy(pieces: MakePieces) -> None:
    extent, odd = Extent(16, 3, 4), Place(0, 32, 100)
    transfer = pieces("section", "h2d", "pageable", extent, odd, odd)
    with pytest.raises(Unsupported, match="not a slice pitch of 100 with a pitch of 32"):
        transfer.run(0, 1, 1, 0.0)


def test_whole_moves_what_lies_between_too(pieces: MakePieces) -> None:
    extent = Extent(8, 100)
    strided = Place(0, 80)
    transfer = pieces("whole", "h2d", "pageable", extent, strided, strided)
    assert transfer.bytes_moved == 99 * 80 + 8
    assert pieces("copies", "h2d", "pageable", extent, strided, strided).bytes_moved == 800


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("extent", "to", "from_", "message"),
    [
        (Extent(0, 4), Place(0, 8), Place(0, 8), "nothing to copy: 1 slices of 4 rows of 0 bytes"),
        (Extent(8, 0), Place(0, 8), Place(0, 8), "nothing to copy"),
        (Extent(8, 4, 0), Place(0, 8), Place(0, 8), "nothing to copy"),
        (Extent(16, 4), Place(0, 16), Place(0, 8), "rows of 16 bytes are wider than the pitch of 8"),
        (Extent(8, 4, 2), Place(0, 8, 24), Place(0, 8, 32), "slices of 32 bytes are longer than the slice pitch of 24"),
        (Extent(1 << 40, 1 << 40), Place(0, 1 << 40), Place(0, 1 << 40), "overflows 64 bits"),
        (Extent(8, 1 << 33), Place(0, 1 << 33), Place(0, 8), "overflows 64 bits"),
        (Extent(8, 4), Place((1 << 64) - 8, 8), Place(0, 8), "overflows 64 bits"),
        (Extent(8, SIZE), Place(0, 8), Place(0, 8), f"ends at byte {8 * SIZE} of an allocation of {SIZE}"),
        (Extent(8, 3), Place(offsets=np.array([0, 8, 15], np.uint64)), Place(0, 8), "at offsets 8 and 15 overlap"),
        (Extent(8, 3), Place(offsets=np.array([0, 8], np.uint64)), Place(0, 8), "3 pieces have 2 offsets"),
    ],
)
def test_pieces_that_cannot_be_are_refused(
    pieces: MakePieces, method: str, extent: Extent, to: Place, from_: Place, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        pieces(method, "h2d", "pageable", extent, to, from_)


def test_pieces_may_overlap_where_they_are_read(pieces: MakePieces) -> None:
    overlapping = Place(offsets=np.array([0, 4, 4, 9], np.uint64))
    transfer = pieces("pack", "h2d", "pageable", Extent(8, 4), Place(0, 8), overlapping)
    transfer.poison()
    transfer.run(0, 1, 1, 0.0)
    assert transfer.verify() == ARRIVED


@pytest.mark.parametrize("method", ["device_pack", "pack", "pack_threads", "pack_kernel"])
def test_more_pieces_than_offsets_fit_are_ruled_out(device: _native.Device, pieces: MakePieces, method: str) -> None:
    if method == "pack_kernel" and not device.kernels_reach("pinned"):
        pytest.skip("kernels of this device do not reach pinned memory")
    # A table holds offsets for both sides, of 5000 pieces here.
    count = 10001
    scattered = Place(offsets=np.arange(count, dtype=np.uint64) * np.uint64(8))
    from_ = Place(0, 8) if method == "device_pack" else Place(0, 16)
    with pytest.raises(Unsupported, match="10001 pieces have more offsets than the 10000 that fit"):
        pieces(method, "h2d", "pageable", Extent(8, count), scattered, from_)


def test_a_kernel_over_the_link_needs_no_staging_memory(device: _native.Device, buffers: Buffers) -> None:
    if not device.kernels_reach("pinned"):
        pytest.skip("kernels of this device do not reach pinned memory")
    small = _native.create_staging(device, 1, 1, 1)
    sides = (buffers.destinations["device"], 0, 1, 1, None), (buffers.sources["pinned"], 0, 1, 1, None)
    transfer = _native.create_pieces("kernel", *sides, (1, SIZE, 1), buffers.reference, small)
    transfer.poison()
    transfer.run(0, 1, 1, 0.0)
    assert transfer.verify() == ARRIVED


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("width", [16, 24, 100, 4096])
@pytest.mark.parametrize("way", ["h2d", "d2h"])
@pytest.mark.parametrize("method", ["kernel", "device_pack", "pack_kernel"])
def test_few_blocks_of_a_kernel_move_all_the_same(
    device: _native.Device, buffers: Buffers, method: str, way: str, width: int, blocks: int
) -> None:
    rows = min(SIZE // (2 * width), 5000)
    few = _native.create_staging(device, SIZE, 2, 1, blocks)
    kind = "pinned" if device.why_not("pinned") is None else "pageable"
    on_host = (kind, 8, width, width) if method == "device_pack" else (kind, 8, width + 8, width + 8)
    device_side = ("device", 64, width + 16, width + 16)
    to, source = (device_side, on_host) if way == "h2d" else (on_host, device_side)
    try:
        transfer = _native.create_pieces(
            method,
            (buffers.destinations[to[0]], *to[1:], None),
            (buffers.sources[source[0]], *source[1:], None),
            (width, rows, 1),
            buffers.reference,
            few,
        )
    except Unsupported as error:
        pytest.skip(str(error))
    transfer.poison()
    transfer.run(0, 1, 1, 0.0)
    assert transfer.verify() == ARRIVED


@pytest.mark.parametrize(("threads", "pieces"), [(0, 1), (1 << 40, 1), (1, 1 << 60)])
def test_staging_that_cannot_be_is_refused(device: _native.Device, threads: int, pieces: int) -> None:
    with pytest.raises(UsageError, match=f"no staging with {threads} threads for {pieces} pieces"):
        _native.create_staging(device, 4096, threads, pieces)


def test_a_side_without_a_buffer_or_offsets_is_refused(buffers: Buffers) -> None:
    good = (buffers.sources["pageable"], 0, 8, 8, None)
    none, empty = (None, *good[1:]), (*good[:4], np.array([], np.uint64))
    for wrong, message in ((none, "a side without a buffer"), (empty, "no offsets")):
        with pytest.raises(UsageError, match=message):
            _native.create_pieces("copies", wrong, good, (8, 1, 1), buffers.reference, buffers.staging)  # type: ignore[arg-type]


def test_two_sides_of_one_place_are_refused(buffers: Buffers) -> None:
    side = (buffers.destinations["pageable"], 0, 8, 8, None)
    source = (buffers.sources["pageable"], 0, 8, 8, None)
    with pytest.raises(UsageError, match="exactly one side must be device memory"):
        _native.create_pieces("copies", side, source, (8, 1, 1), buffers.reference, buffers.staging)


@pytest.mark.parametrize(
    ("operation", "method"),
    [
        ("copy", "copies"),
        ("batch", "batch"),
        ("graph", "graph"),
        ("section", "section"),
        ("pieces", "kernel"),
        ("copy", "pack"),
        ("copy", "pack_threads"),
        ("pieces", "pack_kernel"),
    ],
)
def test_pieces_that_do_not_arrive_are_counted(operation: str, method: str) -> None:
    device = open_device(f"host:fault={operation}:partial").native
    own = Buffers(device)
    extent = Extent(64, 40)
    strided = Place(128, 128)
    transfer = _native.create_pieces(
        method,
        (own.destinations["device"], *strided),
        (own.sources["pinned"], *strided),
        extent,
        own.reference,
        own.staging,
    )
    transfer.poison()
    transfer.run(0, 1, 1, 0.0)
    (wrong, first), (outside, _) = transfer.verify()
    assert wrong >= 20
    assert first in (0, 20)
    # What the check itself reads comes by a copy.
    assert outside == 0 or operation == "copy"


def test_what_is_written_between_the_pieces_is_counted(device: _native.Device, buffers: Buffers) -> None:
    if reason := device.why_not("pinned"):
        pytest.skip(reason)
    strided = Place(4096, 128)
    destination = buffers.destinations["pinned"]
    transfer = _native.create_pieces(
        "copies", (destination, *strided), (buffers.sources["device"], *strided), Extent(64, 40), buffers.reference,
        buffers.staging,
    )  # fmt: skip
    transfer.poison()
    transfer.run(0, 1, 1, 0.0)
    destination.set_bytes(4096 + 64, 3, 1)  # after the first piece
    destination.set_bytes(4095, 1, 1)  # before it
    assert transfer.verify() == [(0, NONE), (4, 0)]


@pytest.mark.parametrize(
    ("operation", "method"),
    [
        ("copy", "copies"),
        ("batch", "batch"),
        ("graph", "graph"),
        ("section", "section"),
        ("pieces", "kernel"),
        ("pieces", "device_pack"),
        ("copy", "pack"),
        ("copy", "pack_threads"),
        ("pieces", "pack_kernel"),
        ("synchronize", "waited_copies"),
    ],
)
def test_a_failure_on_the_way_is_told(operation: str, method: str) -> None:
    device = open_device(f"host:fault={operation}:fail@60").native
    own = Buffers(device)
    from_ = Place(0, 64) if method == "device_pack" else Place(0, 128)
    transfer = _native.create_pieces(
        method,
        (own.destinations["device"], *Place(0, 128)),
        (own.sources["pageable"], *from_),
        Extent(64, 10),
        own.reference,
        own.staging,
    )
    with pytest.raises(CallFailed, match=operation):
        transfer.run(0, 100, 100, 0.0)
