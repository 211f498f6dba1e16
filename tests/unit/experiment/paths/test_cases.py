"""Which copies over several links are planned, and what becomes of devices that cannot take part."""

from collections.abc import Callable, Sequence

import pytest

from isthmus import _native
from isthmus.errors import DeviceAbsent
from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.options import ModeName, Options
from isthmus.experiment.paths import cases as paths
from isthmus.experiment.paths.cases import Machine, _usable
from isthmus.machine import devices
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.record import GIB, MIB, Case, Device, Placement

SIZES = [16 * MIB, 64 * MIB, GIB]
PLENTY = 64 * GIB

Plan = Callable[..., Planned]


def card(index: int, node: int | None = None) -> Device:
    return Device(backend="cuda", index=index, name="GPU", pci_address=f"0000:0{index}:00.0", numa_node=node)


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> Plan:
    """What is planned for so many cards, of which the run is on the second."""

    def planned(
        count: int,
        mode: ModeName = "default",
        memory_bytes: int = PLENTY,
        nodes: Sequence[int | None] = (None,) * 8,
        bound: int | None = None,
    ) -> Planned:
        cards = [card(index, nodes[index]) for index in range(count)]
        monkeypatch.setattr(paths, "neighbours", lambda *_: cards)
        own = OpenDevice(open_device("host").native, cards[min(1, count - 1)], Placement(bound_node=bound))
        return paths.plan(own, Options(mode=mode, sizes=SIZES), memory_bytes)

    return planned


def measured(planned: Planned) -> list[Case]:
    """Every case that can be measured, as far as is known before devices are open."""
    return [case for batch in planned.batches for case in batch.prepare.args[1]]  # type: ignore[attr-defined]


def found(planned: Planned) -> list[Case]:
    """Those of one device's copies at a time."""
    return [case for case in measured(planned) if case.method != "link"]


def test_what_does_not_fit_the_budget_or_the_node_is_skipped_with_the_reason(planned: Plan) -> None:
    little = planned(2, memory_bytes=GIB)
    assert {case.bytes for case in little.skipped if case.method != "link"} == {GIB}
    assert all("--memory-budget" in case.note for case in little.skipped)
    assert {case.bytes for case in found(little)} == {16 * MIB, 64 * MIB}
    apart = planned(2, nodes=[0, 1], bound=1)
    assert {(case.target, case.host_memory) for case in apart.skipped} == {("cuda:0", "pageable")}
    assert {case.note for case in apart.skipped} == {
        "cuda:0 is on NUMA node 0, and the threads that pack on node 1; measure with --device cuda:0"
    }


def test_devices_that_cannot_take_part_cost_their_cases_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    host = open_device("host").native

    def opened(_: str, index: int) -> _native.Device:
        if index == 2:
            raise DeviceAbsent("it has fallen off the bus")
        return host

    monkeypatch.setattr(devices, "open_native", opened)
    machine = Machine(OpenDevice(host, card(0)), card(0), [card(1), card(2)])
    assert machine.why_not("own", "") is None
    assert machine.why_not("one", "cuda:1") is None
    assert machine.why_not("one", "cuda:2") == "cuda:2: it has fallen off the bus"
    assert machine.why_not("all", "") == "copies can go by one other device alone"
    alone = Machine(OpenDevice(host, card(0)), card(0), [card(2)])
    assert alone.why_not("own", "") == "cuda:2: it has fallen off the bus", "there is nothing to compare it with"


def test_a_target_that_cannot_be_opened_is_skipped_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(_: str, index: int) -> _native.Device:
        raise DeviceAbsent("it is not there")

    own = OpenDevice(open_device("host").native, card(0))
    monkeypatch.setattr(devices, "open_native", lost)
    monkeypatch.setattr(paths, "neighbours", lambda *_: [card(0), card(1)])
    _, batch = paths.plan(own, Options(sizes=[MIB], memory=["pageable"], directions=["h2d"]), PLENTY).batches
    prepared = batch.prepare()
    ended: list[Case] = [case for cases in prepared.ended for case in cases]
    assert not prepared.subjects
    assert [(case.target, case.note) for case in ended] == [("cuda:1", "it is not there")] * 2


def test_a_table_says_nothing_of_ways_that_gain_nothing() -> None:
    way = "way direction=h2d device=0000:b0:00.0 gains={} from=9437184 bytes=1000 seconds=0.1\n"
    lines = "origin test\n" + way.format("yes")
    assert _usable(lines + way.format("no").replace("h2d", "d2h")) == lines
