"""Threads and memory are bound near the device, or it is said why not."""

import os
import threading
from collections.abc import Callable

import pytest

from isthmus import _native
from isthmus.errors import CallFailed
from isthmus.machine import binding
from isthmus.machine.binding import bind_near, binding_to, on_node, why_not_bound
from isthmus.record import Device, NumaNode, Placement

Bound = list[tuple[int, list[int]]]
Topology = Callable[..., Bound]


def device(node: int | None) -> Device:
    return Device(backend="cuda", index=0, name="GPU", numa_node=node)


@pytest.fixture
def topology(monkeypatch: pytest.MonkeyPatch) -> Topology:
    """A machine with the given processors on each node; gives the list of calls that bind."""

    def build(nodes: dict[int, set[int]], allowed: set[int], error: str = "") -> Bound:
        bound: Bound = []

        def bind(node: int, cpus: list[int]) -> None:
            if error:
                raise CallFailed(error)
            bound.append((node, cpus))

        monkeypatch.setattr(os, "sched_getaffinity", lambda _: allowed)
        monkeypatch.setattr(binding, "read_numa_nodes", lambda: [NumaNode(id=node) for node in nodes])
        monkeypatch.setattr(binding, "cpus_of_node", lambda node: nodes.get(node, set()))
        monkeypatch.setattr(_native, "bind_to_node", bind)
        return bound

    return build


def test_a_run_is_bound_to_the_processors_of_the_device_that_it_may_use(topology: Topology) -> None:
    bound = topology({0: {0, 1, 2, 3}, 1: {4, 5, 6, 7}}, allowed={1, 5, 6})
    assert bind_near(device(1)) == Placement(bound_node=1, cpus="5-6")
    assert bound == [(1, [5, 6])]


@pytest.mark.parametrize(
    ("nodes", "node", "note"),
    [
        ({0: {0, 1}}, 0, "one NUMA node: nothing to bind to"),
        ({}, None, "one NUMA node: nothing to bind to"),
        ({0: {0}, 1: {1}}, None, "the kernel does not say which NUMA node the device is on: not bound"),
        ({0: {0, 1}, 1: {8}}, 1, "no processor of NUMA node 1 is allowed to this process: not bound"),
        # A node of memory only, as HBM and CXL show themselves.
        ({0: {0, 1}, 2: set()}, 2, "no processor of NUMA node 2 is allowed to this process: not bound"),
    ],
)
def test_what_cannot_be_bound_says_why(
    topology: Topology, nodes: dict[int, set[int]], node: int | None, note: str
) -> None:
    bound = topology(nodes, allowed={0, 1})
    assert bind_near(device(node)) == Placement(cpus="0-1", note=note)
    assert bound == []


def test_a_container_that_forbids_it_is_noted_and_no_error(topology: Topology) -> None:
    topology({0: {0}, 1: {1}}, allowed={0, 1}, error="set_mempolicy failed: Operation not permitted")
    placement = bind_near(device(1))
    assert placement.bound_node is None
    assert placement.cpus == "0-1"
    assert placement.note == "not bound to NUMA node 1: set_mempolicy failed: Operation not permitted"


def test_work_on_a_node_is_done_by_a_thread_that_was_bound_first(topology: Topology) -> None:
    bound = topology({0: {0}, 1: {1, 2}}, allowed={0, 1})
    here = threading.get_ident()
    assert on_node(binding_to(1, {0, 1}), lambda: (threading.get_ident() != here, list(bound))) == (True, [(1, [1])])
    assert on_node(None, threading.get_ident) == here


def test_a_failure_on_a_node_is_passed_on(topology: Topology) -> None:
    topology({0: {0}, 1: {1}}, allowed={0, 1})

    def fail() -> None:
        raise CallFailed("allocate failed")

    with pytest.raises(CallFailed, match="allocate failed"):
        on_node((1, [1]), fail)


def test_a_node_that_no_thread_can_run_on_says_why(topology: Topology) -> None:
    topology({0: {0}, 1: {1}}, allowed={0, 1})
    assert why_not_bound(binding_to(1, {0, 1})) is None
    assert why_not_bound(binding_to(1, {0})) == "no processor of NUMA node 1 is allowed to this process"
    topology({0: {0}, 1: {1}}, allowed={0, 1}, error="set_mempolicy failed: Operation not permitted")
    reason = "not bound to NUMA node 1: set_mempolicy failed: Operation not permitted"
    assert why_not_bound(binding_to(1, {0, 1})) == reason
