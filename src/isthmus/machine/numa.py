"""NUMA nodes and their CPUs as the kernel lists them, and binding a thread and its memory to one."""

import os
import re
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.machine.kernel_files import names, read_text
from isthmus.record import KIB, Device, NumaNode, Placement

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
# Far above what any kernel is built for (8192); keeps a damaged list from asking for gigabytes of numbers.
_MOST_CPUS = 1 << 16
# A node and those of its processors that may be used.
NodeBinding = tuple[int, list[int]]
_T = TypeVar("_T")


def parse_cpu_list(text: str) -> set[int]:
    """CPU numbers of a list in the kernel's form, such as ``0-3,8``; empty for an empty list.

    Raises ValueError when the text is not such a list.
    """
    cpus: set[int] = set()
    for item in filter(None, text.strip().split(",")):
        match = _RANGE.fullmatch(item.strip())
        if match is None:
            raise ValueError(f"not a list of CPUs: {text!r}; expected numbers and ranges, such as 0-3,8")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last >= _MOST_CPUS:
            raise ValueError(f"not a range of CPUs: {item!r}")
        cpus.update(range(first, last + 1))
    return cpus


def format_cpu_list(cpus: Iterable[int]) -> str:
    """The kernel's form of a set of CPUs: ``0-3,8``."""
    ranges: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def cpus_of_node(node: int, root: Path = Path("/")) -> set[int]:
    """CPUs that are near the node's memory; empty for a node of memory only, and for one that does not exist."""
    return _cpus(_nodes_directory(root) / f"node{node}")


def read_numa_nodes(root: Path = Path("/")) -> list[NumaNode]:
    """The nodes in order of their numbers; empty on a kernel without NUMA support."""
    directory = _nodes_directory(root)
    matches = [re.fullmatch(r"node(\d+)", name) for name in names(directory) or []]
    return [_read_node(directory, node) for node in sorted(int(match[1]) for match in matches if match)]


def _read_node(directory: Path, node: int) -> NumaNode:
    path = directory / f"node{node}"
    total = re.search(r"MemTotal:\s*(\d+) kB", read_text(path / "meminfo"))
    return NumaNode(id=node, cpus=format_cpu_list(_cpus(path)), memory_bytes=int(total[1]) * KIB if total else 0)


def _nodes_directory(root: Path) -> Path:
    return root / "sys/devices/system/node"


def _cpus(path: Path) -> set[int]:
    try:
        return parse_cpu_list(read_text(path / "cpulist"))
    except ValueError:
        return set()


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
