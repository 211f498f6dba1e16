"""What explains rates of pageable memory: memcpy and NUMA nodes, on a machine that pretends to have several."""

import os
from collections.abc import Callable, Collection

import pytest

from isthmus.experiment.bandwidth import cases
from isthmus.experiment.bandwidth.cases import CauseSweep
from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.sweep import planned
from isthmus.experiment.engine.transfers import transfer_case
from isthmus.machine import binding
from isthmus.machine.binding import NodeBinding
from isthmus.machine.devices import open_device
from isthmus.record import GIB, KIB, MIB, Case, Direction, NumaNode

WAYS: tuple[Direction, ...] = ("h2d", "d2h")
TRANSFERS = [transfer_case("bandwidth", "pageable", way, 64 * KIB) for way in WAYS]
HERE = os.sched_getaffinity(0)

Machine = Callable[..., list[Case]]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, ended: Callable[[Planned], list[Case]]) -> Machine:
    """All cases of a machine with these processors on its nodes; threads run on the real node all the same."""

    def measure(cpus: dict[int, set[int]], memory_bytes: int = GIB) -> list[Case]:
        monkeypatch.setattr(binding, "cpus_of_node", lambda node: cpus[node])

        def binding_to(node: int, allowed: Collection[int]) -> NodeBinding:
            usable = binding.binding_to(node, allowed)
            return (0, usable[1]) if usable[1] else usable

        monkeypatch.setattr(cases, "binding_to", binding_to)
        nodes = [NumaNode(id=node, cpus="some" if of_node else "") for node, of_node in cpus.items()]
        return ended(planned(CauseSweep(open_device("host"), Options(), memory_bytes, TRANSFERS, nodes)))

    return measure


def test_each_node_and_memcpy_are_measured_and_verified(measured: Machine) -> None:
    found = measured({0: HERE, 1: HERE, 2: set()})
    assert {(case.method, case.direction, case.node) for case in found} == {
        ("memcpy", None, None),
        *(("copy", way, node) for way in WAYS for node in (0, 1)),
    }
    for case in found:
        assert (case.verified, case.skipped, case.host_memory) == ("yes", False, "pageable")
        assert len(case.samples("host_seconds")) == 2
    assert os.sched_getaffinity(0) == HERE


def test_one_node_is_neither_near_nor_far(measured: Machine) -> None:
    assert [case.method for case in measured({0: HERE, 1: set()})] == ["memcpy"]


def test_a_node_whose_processors_are_not_allowed_is_skipped_with_the_reason(measured: Machine) -> None:
    notes = {case.note for case in measured({0: HERE, 1: {100_000}}) if case.node == 1}
    assert notes == {"no processor of NUMA node 1 is allowed to this process"}


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        (Options(mode="quick"), 64 * MIB),
        (Options(sizes=[MIB * size for size in (160, 320, 480)], directions=["d2h"]), 160 * MIB),
        (Options(sizes=[64 * MIB, 256 * MIB]), None),  # as check does
        (Options(sizes=[1, 2, 4]), None),
        (Options(memory=["pinned"]), None),
        (Options(directions=["both"]), None),
        (Options(alignment_bytes=4), None),
    ],
)
def test_rates_of_pageable_memory_are_explained_where_there_are_some(options: Options, asked: int | None) -> None:
    planned = cases.plan(open_device("host"), options, 4 * GIB)
    skipped = [case for case in planned.skipped if case.method == "memcpy"]
    batches = [case for batch in planned.batches for case in batch.prepare.args[1]]  # type: ignore[attr-defined]
    sizes = {case.bytes for case in batches if case.method == "memcpy"}
    assert (sizes | {case.bytes for case in skipped}) == ({asked} if asked else set())
