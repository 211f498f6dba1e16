"""The largest buffer that can be had for a list of sizes."""

import pytest

from isthmus.errors import CallFailed
from isthmus.experiment.engine.buffers import PAGE_BYTES, allocate_largest
from isthmus.machine.devices import open_device
from isthmus.record import KIB


def test_the_largest_size_of_each_name_decides() -> None:
    arenas = allocate_largest(open_device("host").native, "pinned", {"a": [1, 5000, 4096], "b": [7]})
    assert {name: arena.buffer and arena.buffer.bytes for name, arena in arenas.items()} == {
        "a": 2 * PAGE_BYTES,
        "b": PAGE_BYTES,
    }
    assert {name: arena.too_large for name, arena in arenas.items()} == {"a": {}, "b": {}}
    assert arenas["a"].usable(96) == 2 * PAGE_BYTES - 96


def test_there_is_room_for_the_offset() -> None:
    arenas = allocate_largest(open_device("host").native, "pinned", {"a": [4096]}, offset=64)
    assert arenas["a"].usable(64) >= 4096


def test_sizes_that_are_too_large_are_noted_one_by_one() -> None:
    device = open_device("host:memory=20KiB").native
    arena = allocate_largest(device, "device", {"a": [size * KIB for size in (4, 64, 16, 32)]})["a"]
    assert arena.buffer
    assert arena.buffer.bytes == 16 * KIB
    assert list(arena.too_large) == [64 * KIB, 32 * KIB]
    for size, reason in arena.too_large.items():
        assert f"{size} bytes of device memory" in reason


def test_the_first_name_does_not_take_what_the_second_needs() -> None:
    device = open_device("host:memory=20KiB").native
    sizes = [4 * KIB, 8 * KIB, 16 * KIB]
    arenas = allocate_largest(device, "device", {"a": sizes, "b": sizes})
    for arena in arenas.values():
        assert arena.buffer
        assert arena.buffer.bytes == 8 * KIB
        assert list(arena.too_large) == [16 * KIB]
    assert device.free_bytes() == 4 * KIB


def test_when_nothing_fits_there_is_no_buffer() -> None:
    arena = allocate_largest(open_device("host:memory=1KiB").native, "device", {"a": [1, 2]})["a"]
    assert arena.buffer is None
    assert list(arena.too_large) == [2, 1]
    assert arena.usable(0) == 0


def test_a_name_without_sizes_that_fit_has_no_buffer() -> None:
    device = open_device("host:memory=4KiB").native
    arenas = allocate_largest(device, "device", {"large": [64 * KIB], "small": [1]})
    assert arenas["large"].buffer is None
    assert list(arenas["large"].too_large) == [64 * KIB]
    assert arenas["small"].usable(0) == PAGE_BYTES


def test_no_names_need_no_buffer() -> None:
    assert allocate_largest(open_device("host").native, "pinned", {}) == {}


def test_a_kind_that_the_driver_refuses_is_given_up_with_what_it_said() -> None:
    device = open_device("host:fault=allocate:fail").native
    arena = allocate_largest(device, "pinned", {"a": [1, 2]})["a"]
    assert arena.buffer is None
    assert set(arena.too_large) == {1, 2}
    assert all(reason.startswith("failed: ") for reason in arena.too_large.values())
    assert "allocate failed for 4096 bytes" in arena.too_large[1]


def test_a_device_that_refuses_memory_of_its_own_ends_the_run() -> None:
    device = open_device("host:fault=allocate:fail").native
    with pytest.raises(CallFailed, match="allocate failed for 4096 bytes"):
        allocate_largest(device, "device", {"a": [1]})
