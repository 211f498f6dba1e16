"""Keeps the run's threads and memory on the device's NUMA node."""

import os

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.numa import cpus_of_node, format_cpu_list, read_numa_nodes
from isthmus.record import Device, Placement

__all__ = ["bind_near"]


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
    near = cpus_of_node(device.numa_node) & allowed
    if not near:
        return _noting(unbound, f"no processor of NUMA node {device.numa_node} is allowed to this process: not bound")
    try:
        _native.bind_to_node(device.numa_node, sorted(near))
    except IsthmusError as error:
        return _noting(unbound, f"not bound to NUMA node {device.numa_node}: {error}")
    return Placement(bound_node=device.numa_node, cpus=format_cpu_list(near))


def _noting(placement: Placement, note: str) -> Placement:
    return Placement(cpus=placement.cpus, note=note)
