"""NUMA nodes and their CPUs as the kernel lists them."""

import re
from collections.abc import Iterable
from pathlib import Path

from isthmus.machine.kernel_files import names, read_text
from isthmus.record import KIB, NumaNode

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
# Far above what any kernel is built for (8192); keeps a damaged list from asking for gigabytes of numbers.
_MOST_CPUS = 1 << 16


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
