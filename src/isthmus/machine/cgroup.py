"""What the process's container or job allows it: limits of control groups, versions 1 and 2, and who set them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple, TypeVar

from isthmus.machine.kernel_files import exists, read_int, read_text

Number = TypeVar("Number", int, float)

# Version 1 has no word for "no limit" and shows the largest multiple of a page below 2**63 instead.
_NO_LIMIT = 1 << 60


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
