"""Memory of every kind: it holds what is written to it, and its pattern is the pattern, byte for byte."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from isthmus import _native
from isthmus.errors import Unsupported, UsageError
from isthmus.experiment.bandwidth.cases import MEMORY_KINDS

Pattern = Callable[[int, int], bytes]
Allocate = Callable[..., _native.Buffer]
Contents = Callable[[_native.Buffer], bytes]

NONE = 2**64 - 1
GUARD = 0x5A
# Every kind, filled and checked by each side that can have it.
PLACES = [*((kind, "host") for kind in MEMORY_KINDS), ("managed", "device"), ("device", "device")]
# Size and offset: tails, words that straddle alignments, more than a page, enough for several threads.
SPANS = [(1, 0), (7, 3), (8, 1), (4095, 1), (4097, 4093), (65536, 0), (8 * 1024 * 1024 + 5, 13)]

each_place = pytest.mark.parametrize(("kind", "side"), PLACES, ids=lambda word: word)
each_span = pytest.mark.parametrize(("size", "offset"), SPANS)


@pytest.mark.parametrize("kind", MEMORY_KINDS)
@each_span
def test_host_memory_holds_what_is_written(
    allocate: Allocate, pattern: Pattern, kind: str, size: int, offset: int
) -> None:
    buffer = allocate(kind, offset + size, GUARD)
    buffer.write(offset, pattern(3, size))
    assert buffer.read(offset, size) == pattern(3, size)
    assert buffer.read(0, offset) == bytes([GUARD]) * offset


def test_the_host_does_not_reach_into_device_memory_of_its_own(device: _native.Device, allocate: Allocate) -> None:
    if device.info["backend"] == "host":
        pytest.skip("device memory of the host backend is host memory")
    buffer = allocate("device", 64)
    with pytest.raises(Unsupported, match="device memory"):
        buffer.read(0, 64)
    with pytest.raises(Unsupported, match="device memory"):
        buffer.write(0, b"x")


@each_place
@each_span
def test_the_pattern_is_the_definition_and_stays_inside_its_region(
    allocate: Allocate, contents: Contents, pattern: Pattern, kind: str, side: str, size: int, offset: int
) -> None:
    buffer = allocate(kind, offset + size + 9, GUARD)
    buffer.fill_pattern(offset, size, 12345, side)
    found = contents(buffer)
    assert found[offset : offset + size] == pattern(12345, size)
    assert set(found[:offset] + found[offset + size :]) == {GUARD}
    assert buffer.verify_pattern(offset, size, 12345, side) == (0, NONE)


def test_the_largest_seed_wraps_around_on_every_side(allocate: Allocate, contents: Contents, pattern: Pattern) -> None:
    seed = 2**64 - 1
    for kind in ("pinned", "device"):
        buffer = allocate(kind, 1000)
        buffer.fill_pattern(0, 1000, seed)
        assert contents(buffer) == pattern(seed, 1000)


@each_place
@pytest.mark.parametrize(("size", "offset"), [(8 * 4096 + 3, 0), (1024 * 1024 + 7, 5)])
def test_one_wrong_byte_is_found_wherever_it_is(
    allocate: Allocate, pattern: Pattern, kind: str, side: str, size: int, offset: int
) -> None:
    buffer = allocate(kind, offset + size)
    right = pattern(7, size)
    buffer.fill_pattern(offset, size, 7, side)
    for at in (0, 1, size // 2, size - 4, size - 1):
        buffer.set_bytes(offset + at, 1, right[at] ^ 0x01)
        assert buffer.verify_pattern(offset, size, 7, side) == (1, at // 8)
        buffer.set_bytes(offset + at, 1, right[at])
    assert buffer.verify_pattern(offset, size, 7, side) == (0, NONE)


@each_place
def test_wrong_words_are_counted_and_the_first_is_named(allocate: Allocate, kind: str, side: str) -> None:
    size = 3 * 1024 * 1024 + 1
    buffer = allocate(kind, size)
    buffer.fill_pattern(0, size, 7, side)
    buffer.set_bytes(1024 * 1024 - 3, 11, 0)  # Ends one word, covers the next.
    buffer.set_bytes(2 * 1024 * 1024, 4, 0)
    assert buffer.verify_pattern(0, size, 7, side) == (3, 1024 * 1024 // 8 - 1)
    assert buffer.verify_pattern(0, size, 8, side) == (-(-size // 8), 0)


@pytest.mark.parametrize(("side", "other"), [("host", "device"), ("device", "host")])
def test_managed_memory_filled_on_one_side_is_right_on_the_other(allocate: Allocate, side: str, other: str) -> None:
    buffer = allocate("managed", 100_003)
    buffer.fill_pattern(0, 100_003, 9, side)
    assert buffer.verify_pattern(0, 100_003, 9, other) == (0, NONE)
    buffer.set_bytes(50_000, 1, buffer.read(50_000, 1)[0] ^ 0x80)
    assert buffer.verify_pattern(0, 100_003, 9, side) == (1, 6250)


@pytest.mark.parametrize("kind", ["pageable", "device"])
@pytest.mark.parametrize(("offset", "size"), [(0, 101), (100, 1), (101, 0), (2**63, 2**63), (1, 2**64 - 1)])
def test_what_leaves_the_buffer_is_a_usage_error(allocate: Allocate, kind: str, offset: int, size: int) -> None:
    buffer = allocate(kind, 100)
    expected = f"{size} bytes at offset {offset} do not lie in a buffer of 100"
    with pytest.raises(UsageError, match=expected):
        buffer.fill_pattern(offset, size, 1)
    with pytest.raises(UsageError, match=expected):
        buffer.verify_pattern(offset, size, 1)
    with pytest.raises(UsageError, match=expected):
        buffer.set_bytes(offset, size, 1)


def test_reading_and_writing_beyond_the_end_is_a_usage_error(allocate: Allocate) -> None:
    buffer = allocate("pageable", 100)
    with pytest.raises(UsageError, match="do not lie in a buffer of 100"):
        buffer.read(99, 2)
    with pytest.raises(UsageError, match="do not lie in a buffer of 100"):
        buffer.write(99, b"xy")
    # Not an allocation of what was asked for before it is refused.
    with pytest.raises(UsageError, match="do not lie in a buffer of 100"):
        buffer.read(0, 2**63)


def test_a_side_that_does_not_exist_is_a_usage_error(allocate: Allocate) -> None:
    buffer = allocate("pageable", 8)
    with pytest.raises(UsageError, match="no side 'gpu'; there are host and device"):
        buffer.fill_pattern(0, 8, 1, "gpu")
    with pytest.raises(UsageError, match="no side 'gpu'; there are host and device"):
        buffer.verify_pattern(0, 8, 1, "gpu")


@pytest.mark.parametrize("kind", MEMORY_KINDS)
def test_pages_are_there_and_have_a_node(allocate: Allocate, kind: str) -> None:
    nodes = allocate(kind, 64 * 4096).nodes(16)
    assert len(nodes) == 16
    # The kernel does not tell for memory that a driver has mapped; for ordinary pages it always can.
    assert all(node >= (0 if kind.startswith("pageable") else -1) for node in nodes)
    assert len(allocate(kind, 1).nodes(16)) == 1
