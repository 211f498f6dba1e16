"""The fingerprint of the host: all about the machine and its control groups that can explain a figure."""

import os
import re
import resource
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple, TypeVar

from isthmus.machine.cpu import read_cpu, read_numa_nodes
from isthmus.machine.kernel_files import exists, names, read_fields, read_int, read_text
from isthmus.record import KIB, Host, Limits, Memory

Number = TypeVar("Number", int, float)
# Version 1 has no word for "no limit" and shows the largest multiple of a page below 2**63 instead.
_NO_LIMIT = 1 << 60
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


class ContainerLimits(NamedTuple):
    """The tightest limits on the way from the process's control group up to the root; None is "no limit"."""

    memory_bytes: int | None = None
    cpus: float | None = None
    processes: int | None = None


class _Mount(NamedTuple):
    version: int
    # The group that appears at `point`: a container sees its own part of the hierarchy only.
    top: str
    point: Path
    controllers: frozenset[str]


def read_container_limits(root: Path = Path("/")) -> ContainerLimits:
    """Limits of memory, processor time (in CPUs) and processes; a limit set anywhere above the process counts."""
    memory, cpus, processes = [], [], []
    for directory in _group_directories(root):
        memory += [_limit(directory / name) for name in ("memory.max", "memory.limit_in_bytes")]
        # Version 2: "200000 100000" is two CPUs, "max 100000" no limit.
        words = read_text(directory / "cpu.max").split()
        cpus += [
            _quotient(*words) if len(words) == 2 else None,
            _quotient(read_text(directory / "cpu.cfs_quota_us"), read_text(directory / "cpu.cfs_period_us")),
        ]
        processes.append(_limit(directory / "pids.max"))
    return ContainerLimits(_smallest(memory), _smallest(cpus), _smallest(processes))


def read_container_usage(root: Path = Path("/")) -> int:
    """Bytes in use in the group that sets the tightest limit of memory; 0 where none does."""
    tightest: tuple[int, int] | None = None
    for directory in _group_directories(root):
        for limit_name, usage_name in (
            ("memory.max", "memory.current"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes"),
        ):
            limit = _limit(directory / limit_name)
            if limit is not None and (tightest is None or limit < tightest[0]):
                tightest = limit, read_int(directory / usage_name) or 0
    return tightest[1] if tightest else 0


def container_kind(root: Path, environment: Mapping[str, str]) -> str:
    """Who confines the process: kubernetes, podman, docker, apptainer, lxc or slurm job; empty when none is recognised.

    The outermost manager that a user would ask wins: a pod's runtime leaves its own marks inside the pod.
    """
    groups = " ".join(path for _, path in _groups(root))
    signs = {
        "kubernetes": "KUBERNETES_SERVICE_HOST" in environment or "kubepods" in groups,
        "podman": exists(root / "run/.containerenv") or "libpod" in groups,
        "docker": exists(root / ".dockerenv") or re.search(r"\bdocker\b", groups),
        "apptainer": exists(root / ".singularity.d"),
        "lxc": re.search(r"\blxc\b", groups) or read_text(root / "run/systemd/container").startswith("lxc"),
        "slurm job": "SLURM_JOB_ID" in environment or re.search(r"\bslurm", groups),
    }
    return next((kind for kind, shown in signs.items() if shown), "")


def _groups(root: Path) -> Iterator[tuple[frozenset[str], str]]:
    """Controllers (none for version 2) and path of each group that the process is in."""
    for line in read_text(root / "proc/self/cgroup").splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3:
            yield frozenset(filter(None, parts[1].split(","))), parts[2]


def _mounts(root: Path) -> Iterator[_Mount]:
    """Mounted hierarchies, from lines such as ``31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw``."""
    for line in read_text(root / "proc/self/mountinfo").splitlines():
        before, separator, after = line.partition(" - ")
        fields, source = before.split(), after.split()
        if not separator or len(fields) < 5 or len(source) < 3 or source[0] not in ("cgroup", "cgroup2"):
            continue
        point = root / _unescape(fields[4]).lstrip("/")
        yield _Mount(2 if source[0] == "cgroup2" else 1, _unescape(fields[3]), point, frozenset(source[2].split(",")))


def _unescape(path: str) -> str:
    # The kernel writes blanks, tabs, newlines and backslashes of a path in octal.
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), path)


def _group_directories(root: Path) -> Iterator[Path]:
    """Directories of the process's groups and of all groups above them, as far up as they are mounted here."""
    mounts = list(_mounts(root))
    for controllers, path in _groups(root):
        for mount in mounts:
            if mount.controllers & controllers if controllers else mount.version == 2:
                inside = _below(path, mount.top)
                yield from (mount.point / part for part in (inside, *inside.parents))


def _below(path: str, top: str) -> PurePosixPath:
    """The group's path within the mount; the mount itself when the group is outside of what is mounted."""
    group = PurePosixPath(path)
    if ".." in group.parts or not group.is_relative_to(top):
        return PurePosixPath()
    return group.relative_to(top)


def _limit(path: Path) -> int | None:
    value = read_int(path)
    return value if value is not None and 0 <= value < _NO_LIMIT else None


def _quotient(quota: str, period: str) -> float | None:
    # Not numbers: "max", the -1 of version 1, and an empty file.
    return int(quota) / int(period) if quota.isdecimal() and period.isdecimal() and int(period) else None


def _smallest(limits: Iterable[Number | None]) -> Number | None:
    return min((limit for limit in limits if limit is not None), default=None)
