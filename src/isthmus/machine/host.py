"""The fingerprint of the host: everything about the machine around the device that can explain a figure."""

import os
import re
import resource
from pathlib import Path

from isthmus.machine.cgroup import container_kind, read_container_limits, read_container_usage
from isthmus.machine.cpu import read_cpu, read_numa_nodes
from isthmus.machine.kernel_files import exists, names, read_fields, read_int, read_text
from isthmus.record import KIB, Host, Limits, Memory

_CAP_IPC_LOCK = 14


def read_host(root: Path = Path("/")) -> Host:
    """The machine and what this process is allowed on it; what cannot be read stays empty, and nothing raises.

    `root` holds the /proc, /sys, /etc, /run and /dev that are read. Resource limits, page size, architecture, CPU
    affinity and the environment are always those of the calling process.
    """
    system = os.uname()
    container = read_container_limits(root)
    return Host(
        name=read_text(root / "proc/sys/kernel/hostname") or system.nodename,
        kernel=read_text(root / "proc/sys/kernel/osrelease") or system.release,
        distribution=_distribution(root),
        cpu=read_cpu(root),
        numa_nodes=read_numa_nodes(root),
        memory=_memory(root),
        limits=Limits(
            locked_memory_bytes=None if _locks_without_limit(root) else _soft_limit(resource.RLIMIT_MEMLOCK),
            address_space_bytes=_soft_limit(resource.RLIMIT_AS),
            container_memory_bytes=container.memory_bytes,
            container_cpus=container.cpus,
            container_processes=container.processes,
            container=container_kind(root, os.environ),
        ),
        iommu=_iommu(root),
        confidential=_confidential(root),
    )


def available_memory_bytes(host: Host, root: Path = Path("/")) -> int:
    """What this process may still take without swapping, or being killed by the limit of its container."""
    limit = host.limits.container_memory_bytes
    if limit is None:
        return host.memory.available_bytes
    return min(host.memory.available_bytes, max(limit - read_container_usage(root), 0))


def _distribution(root: Path) -> str:
    for name in ("etc/os-release", "usr/lib/os-release"):
        pretty = read_fields(root / name, separator="=").get("PRETTY_NAME", "").strip("\"'")
        if pretty:
            return pretty
    return ""


def _memory(root: Path) -> Memory:
    info = read_fields(root / "proc/meminfo")
    settings = root / "sys/kernel/mm/transparent_hugepage"
    # The size that transparent pages have, which on a kernel started with default_hugepagesz=1G is not meminfo's.
    huge_page_bytes = _count(settings / "hpage_pmd_size") or _kibibytes(info.get("Hugepagesize", ""))
    pool = root / f"sys/kernel/mm/hugepages/hugepages-{huge_page_bytes // KIB}kB/nr_hugepages"
    return Memory(
        total_bytes=_kibibytes(info.get("MemTotal", "")),
        available_bytes=_kibibytes(info.get("MemAvailable", "")),
        registered_bytes=_registered(root),
        page_bytes=resource.getpagesize(),
        transparent_huge_pages=_chosen(settings / "enabled"),
        transparent_huge_page_defrag=_chosen(settings / "defrag"),
        huge_page_bytes=huge_page_bytes,
        reserved_huge_pages=_count(pool),
    )


def _registered(root: Path) -> int | None:
    """What is pinned of user pages now: those ever pinned less those let go, which kernels count since 5.8."""
    counts = read_fields(root / "proc/vmstat", separator=" ")
    try:
        pinned, released = (int(counts[f"nr_foll_pin_{what}"]) for what in ("acquired", "released"))
    except (KeyError, ValueError):
        return None
    return max(pinned - released, 0) * resource.getpagesize()


def _count(path: Path) -> int:
    return max(read_int(path) or 0, 0)


def _kibibytes(text: str) -> int:
    match = re.fullmatch(r"(\d+) kB", text)
    return int(match[1]) * KIB if match else 0


def _chosen(path: Path) -> str:
    """The word in brackets of a setting such as ``always [madvise] never``."""
    match = re.search(r"\[(\S+)\]", read_text(path))
    return match[1] if match else ""


def _soft_limit(which: int) -> int | None:
    soft, _ = resource.getrlimit(which)
    return None if soft == resource.RLIM_INFINITY else soft


def _locks_without_limit(root: Path) -> bool:
    """Whether the process has CAP_IPC_LOCK, to which RLIMIT_MEMLOCK does not apply.

    The kernel asks for it in the first user namespace: the full set of a rootless container's root does not help.
    """
    try:
        effective = int(read_fields(root / "proc/self/status").get("CapEff", ""), 16)
    except ValueError:
        return False
    first_namespace = read_text(root / "proc/self/uid_map").split() == ["0", "0", str(2**32 - 1)]
    return first_namespace and bool(effective >> _CAP_IPC_LOCK & 1)


def _iommu(root: Path) -> str:
    units, groups = names(root / "sys/class/iommu"), names(root / "sys/kernel/iommu_groups")
    if units is None and groups is None:
        return "cannot be read"
    if not units and not groups:
        return "none seen by this kernel"
    option = re.search(r"(?<!\S)(iommu=pt|iommu\.passthrough=1)(?!\S)", read_text(root / "proc/cmdline"))
    if option:
        return f"on, passthrough ({option[1]})"
    # A kernel may be built to pass through without an option for it: the groups say what came of it.
    kinds = {read_text(root / "sys/kernel/iommu_groups" / group / "type") for group in groups or []} - {""}
    if not kinds:
        return "on, mode cannot be read"
    return "on, translated" if any(kind.startswith("DMA") for kind in kinds) else "on, passthrough"


def _confidential(root: Path) -> str:
    flags = read_fields(root / "proc/cpuinfo").get("flags", "").split()
    # Bare metal that could run such guests has sev_snp too.
    if exists(root / "dev/sev-guest") or {"sev_snp", "hypervisor"} <= set(flags):
        return "SEV-SNP guest"
    if "tdx_guest" in flags or exists(root / "dev/tdx_guest"):
        return "TDX guest"
    return ""
