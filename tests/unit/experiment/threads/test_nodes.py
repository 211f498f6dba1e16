"""NUMA nodes against devices, on a machine that pretends to have several."""

import os
from collections.abc import Callable, Collection

import pytest

from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.sweep import planned
from isthmus.experiment.threads import cases as threads_cases
from isthmus.experiment.threads.cases import NodeSweep
from isthmus.experiment.threads.concurrent import undivided
from isthmus.machine import binding
from isthmus.machine.binding import NodeBinding
from isthmus.machine.devices import open_device
from isthmus.record import GIB, KIB, Case, NumaNode

TRANSFERS = [undivided("pinned", "h2d", 64 * KIB), undivided("pinned", "d2h", 64 * KIB)]
HERE = os.sched_getaffinity(0)

Machine = Callable[..., list[Case]]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, ended: Callable[[Planned], list[Case]]) -> Machine:
    """All cases of a machine with these processors on its nodes; threads run on the real node all the same."""

    def measure(cpus: dict[int, set[int]], memory_bytes: int = GIB, spec: str = "host") -> list[Case]:
        monkeypatch.setattr(binding, "cpus_of_node", lambda node: cpus[node])

        def binding_to(node: int, allowed: Collection[int]) -> NodeBinding:
            usable = binding.binding_to(node, allowed)
            return (0, usable[1]) if usable[1] else usable

        monkeypatch.setattr(threads_cases, "binding_to", binding_to)
        device = open_device(spec)
        nodes = [NumaNode(id=node, cpus="some" if of_node else "") for node, of_node in cpus.items()]
        return ended(planned(NodeSweep(device, Options(), memory_bytes, [device.description], TRANSFERS, nodes)))

    return measure


def test_every_node_with_processors_is_measured_both_ways(measured: Machine) -> None:
    cases = measured({0: HERE, 1: HERE, 2: set()})
    assert len(cases) == 4
    assert {(case.node, case.direction) for case in cases} == {(node, way) for node in (0, 1) for way in ("h2d", "d2h")}
    for case in cases:
        assert (case.verified, case.target, case.threads, case.host_memory) == ("yes", "host", 1, "pinned")
        assert len(case.samples("host_seconds")) == 2
    # The run's own thread stays where it was.
    assert os.sched_getaffinity(0) == HERE


@pytest.mark.parametrize("cpus", [{0: HERE}, {}, {0: HERE, 1: set()}])
def test_one_node_is_a_recorded_skip(measured: Machine, cpus: dict[int, set[int]]) -> None:
    [case] = measured(cpus)
    assert (case.skipped, case.node, case.note) == (True, 0, "needs two NUMA nodes with processors; there is one")


def test_a_node_whose_processors_are_not_allowed_is_skipped_with_the_reason(measured: Machine) -> None:
    cases = measured({0: HERE, 1: {100_000}})
    skipped = [case for case in cases if case.skipped]
    assert {(case.node, case.note) for case in cases if case.node == 1} == {
        (1, "no processor of NUMA node 1 is allowed to this process")
    }
    assert len(skipped) == 2
