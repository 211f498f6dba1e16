"""Copies over several links as experiments time them: counted, verified, beside others' work."""

from __future__ import annotations

import pytest

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.machine.devices import OpenDevice, neighbours, open_device

MIB = 1 << 20
SIZE = 9 * MIB
NONE = 2**64 - 1


@pytest.fixture(scope="module")
def own(spec: str) -> OpenDevice:
    return open_device(spec)


@pytest.fixture(scope="module")
def other(own: OpenDevice) -> str:
    """The name of a device by which copies of this one can go."""
    for each in neighbours(own.description):
        native = open_device(each.spec).native
        if each.spec != own.description.spec and not (
            own.native.why_no_peer(native) or own.native.why_no_peer_reach(native)
        ):
            return each.spec
    pytest.skip("no other device of this backend to go by")


@pytest.mark.parametrize("kind", ["pinned", "pageable"])
@pytest.mark.parametrize("direction", ["h2d", "d2h"])
def test_a_transfer_goes_by_the_links_of_its_session(own: OpenDevice, other: str, direction: str, kind: str) -> None:
    host, there = own.native.allocate(kind, SIZE), own.native.allocate("device", SIZE)
    (host if direction == "h2d" else there).fill_pattern(0, SIZE, 3 + (direction == "d2h"))
    session = _native.Session(own.native, None, 0, None, 0, other)
    transfer = _native.create_transfer("isthmus", [(direction, host, there)], 0, SIZE, 3, True, session=session)
    transfer.poison()
    assert transfer.verify()[0][0] > 0
    samples = transfer.run(0, 2, 2, 0.0)
    assert transfer.verify() == [(0, NONE)]
    assert len(samples["host_seconds"]) == 2
    if kind == "pinned":
        assert session.ways[other] > 0
        assert sum(session.ways.values()) == 2 * SIZE


def test_a_session_of_another_device_or_for_the_drivers_copies_is_refused(own: OpenDevice, other: str) -> None:
    lanes = [("h2d", own.native.allocate("pinned", MIB), own.native.allocate("device", MIB))]
    session = _native.Session(open_device(other).native, None, 0)
    with pytest.raises(UsageError, match="its own device"):
        _native.create_transfer("isthmus", list(lanes), 0, MIB, 3, session=session)
    with pytest.raises(UsageError, match="its own device"):
        _native.create_transfer("copy", list(lanes), 0, MIB, 3, session=_native.Session(own.native, None, 0))


@pytest.mark.parametrize("work", ["copies", "compute"])
def test_what_runs_on_the_neighbour_goes_on_beside_copies_over_its_link(own: OpenDevice, other: str, work: str) -> None:
    neighbour = open_device(other).native
    load, load_source = neighbour.allocate("device", MIB), neighbour.allocate("pinned", MIB)
    load_source.fill_pattern(0, MIB, 5)
    to, source = own.native.allocate("device", SIZE), own.native.allocate("pinned", SIZE)
    source.fill_pattern(0, SIZE, 7)
    beside = _native.create_interference(
        work,
        load,
        "isthmus",
        to,
        source,
        SIZE,
        7,
        0.005,
        session=_native.Session(own.native, None, 0, None, 0, other),
        load_source=load_source if work == "copies" else None,
    )
    beside.poison()
    samples = beside.run(0, 2, 2, 0.0)
    assert beside.verify() == [(0, NONE)]
    assert min(samples["alone_seconds"] + samples["beside_seconds"] + samples["host_seconds"]) > 0
    if work == "copies":
        assert load.verify_pattern(0, MIB, 5) == (0, NONE)
    assert source.verify_pattern(0, SIZE, 7) == (0, NONE)
