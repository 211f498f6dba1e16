"""Handles keep alive what they depend on: they may be dropped in any order, the device first, a closed gate last."""

from __future__ import annotations

import gc
import itertools
from typing import Any

import pytest

from isthmus import _native
from isthmus.machine.devices import open_device

SIZE = 64 * 1024


def handles(device: _native.Device) -> dict[str, Any]:
    """One of each, all used: a copy is still held back by the gate, unless the gate is opened."""
    stream = _native.Stream(device)
    start, stop = _native.Event(device), _native.Event(device)
    memory, on_device = device.allocate("pinned", SIZE), device.allocate("device", SIZE)
    transfer = _native.create_transfer("copy", [("h2d", memory, on_device)], 0, SIZE, 1)
    transfer.run(0, 1, 1, 0)
    gate = stream.close_gate()
    stream.record(start)
    stream.copy(memory, 0, on_device, 0, SIZE)
    stream.record(stop)
    gate.open()
    stream.synchronize()
    assert start.seconds_until(stop) >= 0
    return {
        "device": device,
        "stream": stream,
        "events": (start, stop),
        "memory": memory,
        "on_device": on_device,
        "transfer": transfer,
        "gate": gate,
    }


NAMES = ("device", "stream", "events", "memory", "on_device", "transfer", "gate")
# Every name first, every name last, and each of two before the other.
TURNED = [NAMES[turn:] + NAMES[:turn] for turn in range(len(NAMES))]
ORDERS = [order for turned in TURNED for order in (turned, turned[::-1])]


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_dropped_in_this_order_the_rest_still_works(spec: str, order: tuple[str, ...]) -> None:
    left = handles(open_device(spec).native)
    for name in order:
        del left[name]
        gc.collect()
        if {"stream", "memory", "on_device"} <= left.keys():
            left["memory"].fill_pattern(0, SIZE, 8)
            left["stream"].copy(left["on_device"], 0, left["memory"], 0, SIZE)
            left["stream"].synchronize()
            assert left["on_device"].verify_pattern(0, SIZE, 8)[0] == 0
        if "transfer" in left:
            left["transfer"].poison()
            assert len(left["transfer"].run(0, 2, 2, 0)["host_seconds"]) == 2


@pytest.mark.parametrize("order", list(itertools.permutations(["device", "stream", "gate"])), ids="-".join)
def test_a_stream_that_is_held_back_may_go_before_its_gate(spec: str, order: tuple[str, ...]) -> None:
    device = open_device(spec).native
    memory, on_device = device.allocate("pinned", SIZE), device.allocate("device", SIZE)
    on_device.fill_pattern(0, SIZE, 3)
    stream = _native.Stream(device)
    left: dict[str, object] = {"device": device, "stream": stream, "gate": stream.close_gate()}
    stream.copy(memory, 0, on_device, 0, SIZE)
    del device, stream
    for name in order:
        del left[name]
        gc.collect()
    assert on_device.verify_pattern(0, SIZE, 3)[0] == 0
