"""Keeps threads and memory on a NUMA node: those of the run on the device's, others where an experiment wants them."""

import os
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.machine.cpu import cpus_of_node, format_cpu_list, read_numa_nodes
from isthmus.record import Device, Placement

# A node and those of its processors that may be used.
NodeBinding = tuple[int, list[int]]
_T = TypeVar("_T")


def bind_near(device: Device) -> Placement:
    """Bind this thread, and all that it starts, to the processors and the memory of the device's node.

    Returns what was done, or why nothing was; never raises, since unbound figures are better than none.
    """
    allowed = os.sched_getaffinity(0)
    unbound = Placement(cpus=format_cpu_list(allowed))
    if len(read_numa_nodes()) < 2:
        return _noting(unbound, "one NUMA node: nothing to bind to")
    if device.numa_node is None:
        return _noting(unbound, "the kernel does not say which NUMA node the device is on: not bound")
    local = cpus_of_node(device.numa_node) & allowed
    if not local:
        return _noting(unbound, f"no processor of NUMA node {device.numa_node} is allowed to this process: not bound")
    try:
        _native.bind_to_node(device.numa_node, sorted(local))
    except IsthmusError as error:
        return _noting(unbound, f"not bound to NUMA node {device.numa_node}: {error}")
    return Placement(bound_node=device.numa_node, cpus=format_cpu_list(local))


def near(device: Device, allowed: Collection[int]) -> NodeBinding | None:
    """The device's node; None where it is not known, the only one, or none to be bound to."""
    if device.numa_node is None or len(read_numa_nodes()) < 2:
        return None
    binding = binding_to(device.numa_node, allowed)
    return None if why_not_bound(binding) else binding


def binding_to(node: int, allowed: Collection[int]) -> NodeBinding:
    """The node with those of its processors that are allowed; there may be none."""
    return node, sorted(cpus_of_node(node) & set(allowed))


def why_not_bound(binding: NodeBinding) -> str | None:
    """Why no thread of this process can run on the node; None when one can."""
    node, cpus = binding
    if not cpus:
        return f"no processor of NUMA node {node} is allowed to this process"
    try:
        on_node(binding, lambda: None)
    except IsthmusError as error:
        return f"not bound to NUMA node {node}: {error}"
    return None


def on_node(binding: NodeBinding | None, work: Callable[[], _T]) -> _T:
    """Do `work` on a thread of its own that is bound, so that the memory which it touches first is on the node.

    For None this thread does it. Raises CallFailed where the system forbids binding.
    """
    if binding is None:
        return work()

    def bound() -> _T:
        _native.bind_to_node(*binding)
        return work()

    with ThreadPoolExecutor(1) as executor:
        return executor.submit(bound).result()


def _noting(placement: Placement, note: str) -> Placement:
    return Placement(cpus=placement.cpus, note=note)
