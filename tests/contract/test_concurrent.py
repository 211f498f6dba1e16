"""Transfers on many host threads: every byte arrives however they are divided, and what does not is noticed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.experiment.threads.cases import ThreadLane
from isthmus.machine.devices import open_device

Pattern = Callable[[int, int], bytes]
Allocate = Callable[..., _native.Buffer]

NONE = 2**64 - 1
GUARD = 0x5A
PAGE = 4096
# Less than a page, a page and a bit, and pages that no number of threads divides evenly.
SIZES = [1, PAGE + 1, 37 * PAGE + 5]


class Way(NamedTuple):
    threads: int
    own_streams: bool
    chunk_bytes: int
    spawn: bool


WAYS = [
    Way(threads, own_streams, chunk_bytes, spawn)
    for threads in (1, 3, 16)
    for own_streams in (False, True)
    for chunk_bytes, spawn in ((0, False), (PAGE, False), (0, True))
]

each_way = pytest.mark.parametrize("way", WAYS, ids=str)
each_kind = pytest.mark.parametrize("kind", ["pageable", "pinned"])


@pytest.fixture
def lanes(allocate: Allocate) -> Callable[..., list[ThreadLane]]:
    """An h2d and a d2h lane whose sources hold the patterns of seeds 1 and 2; guards follow the destinations."""

    def lanes(kind: str, size: int) -> list[ThreadLane]:
        ends = [(allocate(kind, size + 16, GUARD), allocate("device", size + 16, GUARD)) for _ in range(2)]
        (sent, received_there), (received, sent_there) = ends
        sent.fill_pattern(0, size, 1)
        sent_there.fill_pattern(0, size, 2)
        return [("h2d", sent, received_there, 1, None), ("d2h", sent_there, received, 2, None)]

    return lanes


Lanes = Callable[..., list[ThreadLane]]


@each_way
@each_kind
@pytest.mark.parametrize("size", SIZES)
def test_what_is_sent_arrives_both_ways_at_once(lanes: Lanes, kind: str, size: int, way: Way) -> None:
    both = lanes(kind, size)
    transfer = _native.create_concurrent(both, size, *way)
    for _ in range(2):
        transfer.poison()
        samples = transfer.run(1, 2, 2, 0)
        assert transfer.verify() == [(0, NONE)] * 2
    assert len(samples["host_seconds"]) == 2
    # The whole ends when its last lane has ended.
    assert all(
        0 < end <= whole for lane in transfer.lanes for end, whole in zip(lane, samples["host_seconds"], strict=True)
    )
    assert both[1][2].read(size, 16) == bytes([GUARD]) * 16


@each_way
@pytest.mark.parametrize("lane", [0, 1])
def test_one_way_leaves_the_other_alone(lanes: Lanes, way: Way, lane: int) -> None:
    size = SIZES[-1]
    both = lanes("pinned", size)
    transfer = _native.create_concurrent([both[lane]], size, *way)
    other = _native.create_concurrent([both[1 - lane]], size, *way)
    for either in (transfer, other):
        either.poison()
    transfer.run(0, 1, 1, 0)
    assert transfer.verify() == [(0, NONE)]
    assert other.verify() == [(-(-size // 8), 0)]


def test_one_wrong_byte_is_noticed_in_its_lane(lanes: Lanes, pattern: Pattern) -> None:
    size = 4099
    both = lanes("pinned", size)
    transfer = _native.create_concurrent(both, size, 4, True, 0, False)
    transfer.run(0, 1, 1, 0)
    both[0][2].set_bytes(size - 1, 1, pattern(1, size)[-1] ^ 1)
    assert transfer.verify() == [(1, 512), (0, NONE)]


@pytest.mark.parametrize(("least", "most", "seconds", "expected"), [(1, 9, 0.0, 1), (4, 4, 0.0, 4), (1, 9, 1e9, 9)])
def test_the_quota_is_kept(lanes: Lanes, least: int, most: int, seconds: float, expected: int) -> None:
    transfer = _native.create_concurrent(lanes("pinned", 4096), 4096, 2, True, 0, False)
    assert len(transfer.run(0, least, most, seconds)["host_seconds"]) == expected
    assert [len(lane) for lane in transfer.lanes] == [expected] * 2


def test_threads_outnumber_chunks(lanes: Lanes) -> None:
    transfer = _native.create_concurrent(lanes("pinned", 2 * PAGE), 2 * PAGE, 8, False, PAGE, False)
    transfer.poison()
    transfer.run(0, 1, 1, 0)
    assert transfer.verify() == [(0, NONE)] * 2


def test_two_transfers_of_one_device_may_alternate(lanes: Lanes) -> None:
    transfers = [
        _native.create_concurrent(lanes(kind, SIZES[-1]), SIZES[-1], 3, own, 0, False)
        for kind, own in (("pinned", True), ("pageable", False))
    ]
    for transfer in transfers * 2:
        transfer.poison()
    for transfer in transfers * 2:
        transfer.run(0, 2, 2, 0)
    assert [transfer.verify() for transfer in transfers] == [[(0, NONE)] * 2] * 2


def test_lanes_of_two_sessions_work_at_once(device: _native.Device, lanes: Lanes, spec: str) -> None:
    """What several devices do; where there is one, it is opened twice."""
    size = SIZES[-1]
    second = open_device(spec).native
    sent, received = second.allocate("pinned", size), second.allocate("device", size)
    sent.fill_pattern(0, size, 7)
    transfer = _native.create_concurrent(
        [*lanes("pinned", size), ("other h2d", sent, received, 7, None)], size, 4, True, 0, False
    )
    transfer.poison()
    transfer.run(0, 2, 2, 0)
    assert [len(lane) for lane in transfer.lanes] == [2] * 3
    assert transfer.verify() == [(0, NONE)] * 3


@pytest.mark.parametrize(
    ("count", "threads", "expected"),
    [(0, 1, "at least one lane and one thread"), (1, 0, "at least one lane and one thread")],
)
def test_nothing_to_do_is_a_usage_error(lanes: Lanes, count: int, threads: int, expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        _native.create_concurrent(lanes("pinned", 8)[:count], 8, threads, True, 0, False)


def test_a_lane_between_host_memories_is_a_usage_error(allocate: Allocate) -> None:
    lane: ThreadLane = ("h2d", allocate("pinned", 8), allocate("pinned", 8), 1, None)
    with pytest.raises(UsageError, match="one side of h2d must be device memory"):
        _native.create_concurrent([lane], 8, 1, True, 0, False)


def test_a_transfer_beyond_a_buffer_is_a_usage_error(lanes: Lanes) -> None:
    with pytest.raises(UsageError, match="25 bytes at offset 0 do not lie in a buffer of 24"):
        _native.create_concurrent(lanes("pinned", 8), 25, 1, True, 0, False)
