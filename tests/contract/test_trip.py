"""Whole trips: every way brings every word there and back, or the right sum, and nothing wrong passes unnoticed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.experiment.breakeven.cases import MEMORY_KINDS
from isthmus.machine.devices import open_device
from isthmus.record import KIB, MIB

LARGEST = 2 * MIB
_MEMORY = {"staging": "pinned", "managed_prefetch": "managed"}

Buffers = tuple[_native.Buffer, _native.Buffer]
MakeTrip = Callable[..., _native.Timed]


def buffers_of(device: _native.Device) -> Buffers:
    source = device.allocate("pageable", LARGEST + 4096)
    source.fill_pattern(0, source.bytes, 1)
    return source, device.allocate("device", LARGEST)


@pytest.fixture(scope="module")
def buffers(device: _native.Device) -> Buffers:
    return buffers_of(device)


@pytest.fixture
def trip(device: _native.Device, buffers: Buffers) -> MakeTrip:
    def trip(kind: str, work: str, in_place: bool, size: int) -> _native.Timed:
        reason = device.why_not(_MEMORY.get(kind, kind))
        if reason is None and kind == "managed_prefetch":
            reason = device.why_no_prefetch()
        if reason:
            pytest.skip(reason)
        return _native.create_trip(kind, work, in_place, size, *buffers)

    return trip


@pytest.mark.parametrize("kind", MEMORY_KINDS)
@pytest.mark.parametrize("work", ["round_trip", "reduction"])
@pytest.mark.parametrize("in_place", [False, True], ids=["memcpy", "in_place"])
@pytest.mark.parametrize("size", [4, 4100, 256 * KIB, LARGEST])
def test_what_comes_back_is_what_was_computed(trip: MakeTrip, kind: str, work: str, in_place: bool, size: int) -> None:
    made = trip(kind, work, in_place, size)
    samples = made.run(1, 2, 2, 0.0)
    assert made.verify() == [(0, 0)]
    assert len(samples["uses_1"]) == len(samples["uses_2"]) == 2
    assert all(first < second for first, second in zip(samples["uses_1"], samples["uses_2"], strict=True))
    # Of every sample all uses but the first.
    assert len(samples["further"]) in (2, 8, 18)


def test_small_trips_are_measured_with_many_uses(trip: MakeTrip) -> None:
    # The first trip says how many uses fit into 30 ms, which on a machine that is busy just then are fewer.
    runs = (trip("pageable", "round_trip", False, 4096).run(2, 1, 1, 0.0) for _ in range(30))
    assert any(all(len(samples[f"uses_{uses}"]) == 1 for uses in (1, 2, 5, 10)) for samples in runs)


@pytest.mark.parametrize(
    ("size", "message"), [(0, "no multiple of 4"), (6, "no multiple of 4"), (LARGEST + 4, "too small")]
)
def test_a_size_that_cannot_be(buffers: Buffers, size: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        _native.create_trip("pageable", "reduction", False, size, *buffers)


@pytest.mark.parametrize(
    ("fault", "work", "wrong"),
    [
        ("copy:partial", "round_trip", True),
        ("copy:partial", "reduction", True),
        ("add:partial", "round_trip", True),
        ("sum:partial", "reduction", True),
        ("fill:partial", "round_trip", False),
    ],
)
@pytest.mark.parametrize("in_place", [False, True], ids=["memcpy", "in_place"])
def test_work_that_was_half_done_is_noticed(fault: str, work: str, wrong: bool, in_place: bool) -> None:
    device = open_device(f"host:fault={fault}@3").native
    made = _native.create_trip("pinned", work, in_place, 64 * KIB, *buffers_of(device))
    made.run(0, 3, 3, 0.0)
    assert (made.verify()[0][0] > 0) == wrong
