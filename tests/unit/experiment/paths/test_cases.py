"""Which copies over several links are planned, and what becomes of devices that cannot take part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from isthmus import _native
from isthmus.errors import DeviceAbsent
from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.options import ModeName, Options
from isthmus.experiment.paths import cases as paths
from isthmus.experiment.paths.machine import Machine, _usable
from isthmus.experiment.paths.points import Point, points, works
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
        monkeypatch.setattr(paths, "probe", lambda: [])
        monkeypatch.setattr(paths, "neighbours", lambda *_: cards)
        own = OpenDevice(open_device("host").native, cards[min(1, count - 1)], Placement(bound_node=bound))
        return paths.plan(own, Options(mode=mode, sizes=SIZES), memory_bytes)

    return planned


def found(planned: Planned) -> list[tuple[str, Point]]:
    """Every point with its target."""
    return [(batch.prepare.args[1].spec, point) for batch in planned.batches for point in batch.prepare.args[3]]  # type: ignore[attr-defined]


def test_two_devices_are_each_measured_with_the_other(planned: Plan) -> None:
    rates = [(target, point) for target, point in found(planned(2)) if not point.work]
    assert {(target, point.method, point.peer) for target, point in rates} == {
        ("cuda:1", "own", ""),
        ("cuda:1", "one", "cuda:0"),
        ("cuda:0", "own", ""),
        ("cuda:0", "one", "cuda:1"),
    }
    assert rates[0][0] == "cuda:1", "the run's own device comes first"
    assert {point.bytes for target, point in rates if target == "cuda:1"} == set(SIZES)
    assert {point.bytes for target, point in rates if target == "cuda:0"} == {GIB}
    assert {(point.memory, point.direction) for _, point in rates} == {
        (memory, way) for memory in ("pinned", "pageable") for way in ("h2d", "d2h")
    }


def test_with_more_devices_all_of_them_are_a_way_too(planned: Plan) -> None:
    rates = [(target, point) for target, point in found(planned(4)) if not point.work]
    assert Counter(point.method for target, point in rates if target == "cuda:0") == {"own": 4, "one": 12, "all": 4}
    assert {target for target, _ in found(planned(4, "quick"))} == {"cuda:1"}


def test_work_of_the_neighbour_runs_beside_copies_of_both_ways(planned: Plan) -> None:
    work = [(target, point) for target, point in found(planned(2)) if point.work]
    assert {target for target, _ in work} == {"cuda:1"}
    assert {(point.method, point.peer, point.bytes, point.memory) for _, point in work} == {
        ("own", "cuda:0", 64 * MIB, "pinned"),
        ("one", "cuda:0", 64 * MIB, "pinned"),
    }
    assert Counter(point.work for _, point in work) == {"copies_h2d": 4, "copies_d2h": 4, "compute": 4}
    assert works("d2h", "quick") == ["copies_d2h", "compute"]
    assert {target for target, point in found(planned(2, "full")) if point.work} == {"cuda:0", "cuda:1"}


def test_paths_are_those_that_sessions_are_told() -> None:
    of_one = list(points(["cuda:0", "cuda:2"], [GIB], Options(memory=["pinned"], directions=["h2d"]), is_own=False))
    assert [point.paths for point in of_one] == ["own", "cuda:0", "cuda:2", "all"]
    assert points(["cuda:0"], [GIB], Options(memory=["pageable"]), is_own=True)
    assert not [each for each in points(["cuda:0"], [GIB], Options(memory=["pageable"]), is_own=True) if each.work]


def test_what_does_not_fit_the_budget_or_the_node_is_skipped_with_the_reason(planned: Plan) -> None:
    little = planned(2, memory_bytes=GIB)
    assert {case.bytes for case in little.skipped} == {GIB}
    assert all("--memory-budget" in case.note for case in little.skipped)
    assert {point.bytes for _, point in found(little)} == {16 * MIB, 64 * MIB}
    apart = planned(2, nodes=[0, 1], bound=1)
    assert {(case.target, case.host_memory) for case in apart.skipped} == {("cuda:0", "pageable")}
    assert {case.note for case in apart.skipped} == {
        "cuda:0 is on NUMA node 0, and the threads that pack on node 1; measure with --device cuda:0"
    }


def test_a_lone_device_is_skipped(planned: Plan) -> None:
    lone = planned(1)
    assert not lone.batches
    assert [case.note for case in lone.skipped] == ["needs two devices of one backend; there is one"]


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
    wanted = [Point("own", "pinned", "h2d", MIB), Point("one", "pinned", "h2d", MIB, "cuda:0")]
    prepared = paths._prepare(own, card(1), [card(0)], wanted, 0)
    ended: list[Case] = [case for cases in prepared.ended for case in cases]
    assert not prepared.subjects
    assert [(case.target, case.note) for case in ended] == [("cuda:1", "it is not there")] * 2


def test_a_table_says_nothing_of_ways_that_gain_nothing() -> None:
    way = "way direction=h2d device=0000:b0:00.0 gains={} from=9437184 bytes=1000 seconds=0.1\n"
    lines = "origin test\n" + way.format("yes")
    assert _usable(lines + way.format("no").replace("h2d", "d2h")) == lines
