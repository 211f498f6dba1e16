"""The host's processors and NUMA nodes: model, sockets, how many may be used, caches, and which CPUs a node has."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from isthmus.machine.kernel_files import exists, names, read_fields, read_int, read_text
from isthmus.record import KIB, MIB, Cpu, NumaNode

# Arm's own cores give no name, only the number that they have in MIDR_EL1; those that accelerators are combined with.
_ARM_CORES = {
    0xD0C: "Neoverse-N1",
    0xD40: "Neoverse-V1",
    0xD42: "Cortex-A78AE",
    0xD49: "Neoverse-N2",
    0xD4F: "Neoverse-V2",
    0xD84: "Neoverse-V3",
}
_SIZE = re.compile(r"(\d+)\s*(K|KB|M|MB)?")
_SIZE_UNITS = {None: 1, "K": KIB, "KB": KIB, "M": MIB, "MB": MIB}
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
# Far above what any kernel is built for (8192); keeps a damaged list from asking for gigabytes of numbers.
_MOST_CPUS = 1 << 16


def read_cpu(root: Path = Path("/")) -> Cpu:
    """The processors below `root`; architecture and the CPUs allowed are those of the calling thread."""
    info = read_fields(root / "proc/cpuinfo")
    try:
        cpus = parse_cpu_list(read_text(root / "sys/devices/system/cpu/online"))
    except ValueError:
        cpus = set()
    if not cpus:
        numbers = re.findall(r"^processor\s*:\s*(\d+)", read_text(root / "proc/cpuinfo"), re.MULTILINE)
        cpus = {int(number) for number in numbers}
    online = sorted(cpus)
    return Cpu(
        model=_model(info),
        architecture=os.uname().machine,
        sockets=_sockets(root, online),
        logical=len(online),
        allowed=len(os.sched_getaffinity(0)),
        last_level_cache_bytes=_last_level_cache(root, online, info),
        hypervisor=_hypervisor(root, info),
    )


def _model(info: dict[str, str]) -> str:
    # x86 and some Arm kernels; POWER ("POWER9, altivec supported"); Arm by number.
    name = info.get("model name") or info.get("cpu") or ""
    if name or "CPU part" not in info:
        return " ".join(name.split())
    try:
        implementer, part = int(info.get("CPU implementer", ""), 16), int(info["CPU part"], 16)
    except ValueError:
        return ""
    if implementer == 0x41 and part in _ARM_CORES:
        return f"Arm {_ARM_CORES[part]}"
    return f"Arm core {part:#x} of implementer {implementer:#x}"


def _sockets(root: Path, online: list[int]) -> int | None:
    directory = root / "sys/devices/system/cpu"
    packages = {read_int(directory / f"cpu{cpu}/topology/physical_package_id") for cpu in online}
    # Arm kernels without a firmware table answer -1.
    known = {package for package in packages if package is not None and package >= 0}
    if known:
        return len(known)
    return len(set(re.findall(r"^physical id\s*:\s*(\d+)", read_text(root / "proc/cpuinfo"), re.MULTILINE))) or None


def _last_level_cache(root: Path, online: list[int], info: dict[str, str]) -> int | None:
    """Size of the outermost cache as one CPU sees it: a socket's, or that of one complex where a socket has several."""
    levels: dict[int, int] = {}
    for cpu in online[:1]:
        directory = root / f"sys/devices/system/cpu/cpu{cpu}/cache"
        for name in names(directory) or []:
            level, size = read_int(directory / name / "level"), _size(read_text(directory / name / "size"))
            if level is not None and size and read_text(directory / name / "type") != "Instruction":
                levels[level] = size
    if levels:
        return levels[max(levels)]
    # Virtual machines may hide the caches. Intel's figure here is the last level's; AMD's is one core's second level.
    return _size(info.get("cache size", "")) if info.get("vendor_id") == "GenuineIntel" else None


def _size(text: str) -> int | None:
    match = _SIZE.fullmatch(text)
    return int(match[1]) * _SIZE_UNITS[match[2]] or None if match else None


def _hypervisor(root: Path, info: dict[str, str]) -> bool | None:
    if "flags" in info:
        return "hypervisor" in info["flags"].split()
    # Other architectures have no such flag, so that only its presence can be shown.
    if read_text(root / "sys/hypervisor/type") or exists(root / "proc/device-tree/hypervisor"):
        return True
    return True if read_text(root / "sys/class/dmi/id/sys_vendor") == "QEMU" else None


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
