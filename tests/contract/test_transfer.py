"""Timed transfers: every method and direction brings the data, notices when it does not, and keeps to its quota."""

from __future__ import annotations

from collections.abc import Callable
from resource import RUSAGE_SELF, getrusage
from typing import NamedTuple

import pytest

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.experiment.bandwidth.cases import DIRECTIONS, MEMORY_KINDS

Pattern = Callable[[int, int], bytes]
Allocate = Callable[..., _native.Buffer]
Lane = tuple[str, _native.Buffer, _native.Buffer | None]

NONE = 2**64 - 1
GUARD = 0x5A
SEED = 1
# The way that a transfer's sources are filled: each has contents of its own, so that one cannot pass for the other.
SEEDS = {"h2d": SEED, "d2h": SEED + 1}
SIZES = [1, 7, 4096, 1024 * 1024 + 3]
# Every kind with the method that experiments move it by.
METHODS = [
    *(({"mapped": "kernel", "managed": "prefetch"}.get(kind, "copy"), kind) for kind in MEMORY_KINDS),
    ("isthmus", "pageable"),
]

each_method = pytest.mark.parametrize(("method", "kind"), METHODS)
each_direction = pytest.mark.parametrize("direction", DIRECTIONS)


class Prepared(NamedTuple):
    """A transfer, the lanes it was made of, and what they hold around the bytes that move."""

    transfer: _native.Timed
    lanes: list[Lane]
    offset: int
    size: int

    def guards(self) -> list[bytes]:
        """What lies before and after the transfer in each lane's host memory."""
        ends = [(0, self.offset), (self.offset + self.size, 16)]
        return [memory.read(*end) for _, memory, _ in self.lanes for end in ends]


Prepare = Callable[..., Prepared]


@pytest.fixture
def prepare(device: _native.Device, allocate: Allocate) -> Prepare:
    """A transfer whose sources hold the pattern; skips where the device does not have it."""

    def prepare(method: str, kind: str, direction: str, size: int, offset: int = 0) -> Prepared:
        if method == "prefetch" and (reason := device.why_no_prefetch()):
            pytest.skip(reason)
        lanes: list[Lane] = []
        for way in ("h2d", "d2h") if direction == "both" else (direction,):
            memory = allocate(kind, offset + size + 16, GUARD)
            on_device = None if method == "prefetch" else allocate("device", offset + size + 16, GUARD)
            source = memory if way == "h2d" or on_device is None else on_device
            source.fill_pattern(offset, size, SEEDS[way])
            lanes.append((way, memory, on_device))
        return Prepared(_native.create_transfer(method, lanes, offset, size, SEED), lanes, offset, size)

    return prepare


@each_method
@each_direction
@pytest.mark.parametrize(("size", "offset"), [(size, offset) for size in SIZES for offset in (0, 5)])
def test_what_is_sent_arrives(prepare: Prepare, method: str, kind: str, direction: str, size: int, offset: int) -> None:
    prepared = prepare(method, kind, direction, size, offset)
    before = prepared.guards()
    for _ in range(2):
        prepared.transfer.poison()
        prepared.transfer.run(1, 2, 2, 0)
        assert prepared.transfer.verify() == [(0, NONE)] * len(prepared.lanes)
    assert prepared.guards() == before


@pytest.mark.parametrize("method", ["copy", "isthmus"])
def test_a_destination_is_untouched_before_each_transfer_and_nothing_around_it_changes(
    device: _native.Device, allocate: Allocate, method: str
) -> None:
    offset, size = 5, 3 * 1024 * 1024
    memory, on_device = allocate("pageable", offset + size + 16, GUARD), allocate("device", offset + size + 16, GUARD)
    on_device.fill_pattern(offset, size, SEEDS["d2h"])
    made = _native.create_transfer(method, [("d2h", memory, on_device)], offset, size, SEED, False, True)
    around = [(0, offset), (offset + size, 16)]
    before = [memory.read(*end) for end in around]
    faults = getrusage(RUSAGE_SELF).ru_minflt
    made.run(0, 3, 3, 0)
    assert getrusage(RUSAGE_SELF).ru_minflt >= faults + 3
    assert made.verify() == [(0, NONE)]
    assert [memory.read(*end) for end in around] == before


@each_direction
@pytest.mark.parametrize(("method", "kind"), [pair for pair in METHODS if pair[0] != "prefetch"])
@pytest.mark.parametrize("size", SIZES)
def test_what_was_not_sent_is_noticed(prepare: Prepare, method: str, kind: str, direction: str, size: int) -> None:
    transfer = prepare(method, kind, direction, size).transfer
    transfer.run(0, 1, 1, 0)
    transfer.poison()
    assert transfer.verify() == [(-(-size // 8), 0)] * (2 if direction == "both" else 1)


def test_one_wrong_byte_at_the_end_is_noticed_in_its_lane(prepare: Prepare, pattern: Pattern) -> None:
    prepared = prepare("copy", "pinned", "both", 4099)
    prepared.transfer.run(0, 1, 1, 0)
    on_device, memory = prepared.lanes[0][2], prepared.lanes[1][1]
    assert on_device
    on_device.set_bytes(4098, 1, pattern(SEEDS["h2d"], 4099)[-1] ^ 1)
    assert prepared.transfer.verify() == [(1, 512), (0, NONE)]
    memory.set_bytes(4098, 1, pattern(SEEDS["d2h"], 4099)[-1] ^ 1)
    assert prepared.transfer.verify() == [(1, 512), (1, 512)]


@each_method
@each_direction
@pytest.mark.parametrize("size", SIZES)
def test_metrics_are_as_many_as_asked_for_and_agree_with_each_other(
    device: _native.Device, prepare: Prepare, method: str, kind: str, direction: str, size: int
) -> None:
    transfer = prepare(method, kind, direction, size).transfer
    transfer.poison()
    samples = transfer.run(1, 3, 7, 0)
    host, enqueue, on_device = (samples[name] for name in ("host_seconds", "enqueue_seconds", "device_seconds"))
    if method == "isthmus":
        # The library's threads and streams are its own, so that nothing but its end can be seen.
        assert (len(host), len(enqueue), len(on_device), transfer.lanes) == (3, 0, 0, [])
        return
    assert (len(host), len(on_device)) == (3, 3)
    assert all(seconds >= 0 for seconds in on_device)
    two_threads = direction == "both" and method == "copy" and device.copy_blocks(kind)
    assert len(enqueue) == (0 if two_threads else 3)
    # Enqueueing is the beginning of a transfer, and so is contained in its time.
    assert all(0 <= part <= whole for part, whole in zip(enqueue, host, strict=False))
    assert [len(lane) for lane in transfer.lanes] == ([3, 3] if direction == "both" else [])
    # Both ways end when the slower of them has ended.
    assert all(0 <= lane <= whole for lanes in transfer.lanes for lane, whole in zip(lanes, on_device, strict=True))


@pytest.mark.parametrize(("least", "most", "seconds", "expected"), [(1, 9, 0.0, 1), (4, 4, 0.0, 4), (1, 9, 1e9, 9)])
@each_direction
def test_the_quota_is_kept(
    prepare: Prepare, direction: str, least: int, most: int, seconds: float, expected: int
) -> None:
    samples = prepare("copy", "pinned", direction, 4096).transfer.run(0, least, most, seconds)
    assert len(samples["host_seconds"]) == len(samples["enqueue_seconds"]) == expected
    assert len(samples["device_seconds"]) == expected


def test_two_transfers_of_one_device_may_alternate(prepare: Prepare) -> None:
    transfers = [prepare("copy", kind, "both", 4097).transfer for kind in ("pinned", "pageable")]
    for transfer in transfers * 2:
        transfer.poison()
    for transfer in transfers * 2:
        transfer.run(1, 2, 2, 0)
    assert [transfer.verify() for transfer in transfers] == [[(0, NONE)] * 2] * 2


@pytest.mark.parametrize(
    ("method", "ways", "expected"),
    [
        ("cpoy", ["h2d"], "no method 'cpoy'; there are copy, kernel, prefetch and isthmus"),
        ("copy", ["d2d"], "no direction 'd2d'; there are h2d and d2h"),
        ("copy", [], "one lane, or one each way"),
        ("copy", ["h2d", "h2d"], "one lane, or one each way"),
        ("copy", ["h2d", "d2h", "h2d"], "one lane, or one each way"),
        ("prefetch", ["h2d"], "copies need a device buffer, prefetches none"),
    ],
)
def test_a_transfer_that_makes_no_sense_is_a_usage_error(
    allocate: Allocate, method: str, ways: list[str], expected: str
) -> None:
    lanes: list[Lane] = [(way, allocate("pinned", 8), allocate("device", 8)) for way in ways]
    with pytest.raises(UsageError, match=expected):
        _native.create_transfer(method, lanes, 0, 8, SEED)


def test_a_copy_without_a_device_buffer_is_a_usage_error(allocate: Allocate) -> None:
    with pytest.raises(UsageError, match="copies need a device buffer"):
        _native.create_transfer("copy", [("h2d", allocate("pinned", 8), None)], 0, 8, SEED)


@pytest.mark.parametrize(("host_bytes", "device_bytes"), [(7, 8), (8, 7)])
def test_a_transfer_beyond_either_buffer_is_a_usage_error(
    allocate: Allocate, host_bytes: int, device_bytes: int
) -> None:
    lanes: list[Lane] = [("h2d", allocate("pinned", host_bytes), allocate("device", device_bytes))]
    with pytest.raises(UsageError, match="8 bytes at offset 0 do not lie in a buffer of 7"):
        _native.create_transfer("copy", lanes, 0, 8, SEED)


def test_the_link_is_read_under_load(device: _native.Device, allocate: Allocate) -> None:
    size = 1024 * 1024
    reading = _native.read_link_under_load(allocate("pinned", size), allocate("device", size))
    assert set(reading) == {"generation", "width", "max_generation", "max_width", "replays"}
    for name, value in reading.items():
        assert value is None or (isinstance(value, int) and value >= (0 if name == "replays" else 1))
    if device.info["shares_host_memory"]:
        assert set(reading.values()) == {None}
