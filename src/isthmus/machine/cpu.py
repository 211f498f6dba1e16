"""The host's processors: model, sockets, how many the process may use, last-level cache, hypervisor."""

import os
import re
from pathlib import Path

from isthmus.machine.kernel_files import exists, names, read_fields, read_int, read_text
from isthmus.machine.numa import parse_cpu_list
from isthmus.record import KIB, MIB, Cpu

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
