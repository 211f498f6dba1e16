"""How many threads a process may use: `processors_check.cpp` reads trees of control groups that are made here."""

from collections.abc import Callable
from pathlib import Path

from tests.processes import ended

V2 = "30 24 0:26 {root} {place} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "33 32 0:30 {root} {place} rw - cgroup cgroup rw,{controllers}\n"
OTHERS = "24 1 0:22 / / rw - ext4 /dev/sda rw\nbroken\n31 24 0:9 / /x rw - tmpfs\n"
V2_FOLDER, V1_FOLDER = "/sys/fs/cgroup", "/sys/fs/cgroup/cpu,cpuacct"


def _v2(root: str = "/", place: str = V2_FOLDER) -> str:
    return OTHERS + V2.format(root=root, place=place)


def _v1(root: str = "/", controllers: str = "cpu,cpuacct") -> str:
    return OTHERS + V1.format(root=root, place=V1_FOLDER, controllers=controllers)


def _v1_limit(folder: str, quota: str, period: str = "100000") -> dict[str, str]:
    return {f"{folder}/cpu.cfs_quota_us": quota, f"{folder}/cpu.cfs_period_us": period}


# What /proc/self/cgroup and /proc/self/mountinfo say, the files of limits, and what is granted.
CASES: dict[str, tuple[str, str, dict[str, str], str]] = {
    "v2, own namespace": ("0::/", _v2(), {f"{V2_FOLDER}/cpu.max": "50000 100000"}, "0.50"),
    "v2, no limit": ("0::/", _v2(), {f"{V2_FOLDER}/cpu.max": "max 100000"}, "all"),
    "v2, the least above": (
        "0::/a/b/c",
        _v2(),
        {
            f"{V2_FOLDER}/a/cpu.max": "150000 100000",
            f"{V2_FOLDER}/a/b/cpu.max": "max 100000",
            f"{V2_FOLDER}/a/b/c/cpu.max": "40000 10000",
        },
        "1.50",
    ),
    "v2, the least below": (
        "0::/a/b",
        _v2(),
        {f"{V2_FOLDER}/a/cpu.max": "400000 100000", f"{V2_FOLDER}/a/b/cpu.max": "25000 100000"},
        "0.25",
    ),
    "v2, no group of ours": ("0::/a", _v2(), {f"{V2_FOLDER}/b/cpu.max": "1000 100000"}, "all"),
    "v2, mounted part": ("0::/kube/pod", _v2("/kube/pod"), {f"{V2_FOLDER}/cpu.max": "200000 100000"}, "2.00"),
    "v2, group elsewhere": (
        "0::/../other",
        _v2(),
        {f"{V2_FOLDER}/cpu.max": "300000 100000", f"{V2_FOLDER}/other/cpu.max": "1000 100000"},
        "3.00",
    ),
    "v2, a name that begins alike": ("0::/pods", _v2("/pod"), {f"{V2_FOLDER}/cpu.max": "300000 100000"}, "3.00"),
    "v2, a place with a space": ("0::/", _v2(place="/a\\040b"), {"/a b/cpu.max": "70000 100000"}, "0.70"),
    "v2, nonsense": ("0::/", _v2(), {f"{V2_FOLDER}/cpu.max": "0 0"}, "all"),
    "v2, empty": ("0::/", _v2(), {f"{V2_FOLDER}/cpu.max": ""}, "all"),
    "v1, a container": (
        "5:memory:/m\n4:cpu,cpuacct:/docker/1",
        _v1("/docker/1"),
        _v1_limit(V1_FOLDER, "250000"),
        "2.50",
    ),
    "v1, no limit": ("4:cpu,cpuacct:/", _v1(), _v1_limit(V1_FOLDER, "-1"), "all"),
    "v1, the least above": (
        "4:cpuacct,cpu:/a/b",
        _v1(),
        _v1_limit(f"{V1_FOLDER}/a", "10000", "20000") | _v1_limit(f"{V1_FOLDER}/a/b", "200000"),
        "0.50",
    ),
    "v1, of cpuset alone": ("4:cpuset:/", _v1(controllers="cpuset"), _v1_limit(V1_FOLDER, "1000"), "all"),
    "both, the limit in v1": (
        "4:cpu,cpuacct:/a\n0::/a",
        _v1() + _v2(place="/sys/fs/cgroup/unified"),
        _v1_limit(f"{V1_FOLDER}/a", "120000"),
        "1.20",
    ),
    "no groups": ("", OTHERS, {}, "all"),
    "nothing mounted": ("0::/a", OTHERS, {f"{V2_FOLDER}/a/cpu.max": "1000 100000"}, "all"),
}


def test_processors_are_those_bound_and_granted(
    tmp_path: Path, repository: Path, build_cpp: Callable[..., Path]
) -> None:
    roots = []
    for number, (groups, mounts, limits, _) in enumerate(CASES.values()):
        root = tmp_path / str(number)
        files = {"/proc/self/cgroup": groups + "\n", "/proc/self/mountinfo": mounts, **limits}
        for name, text in files.items():
            path = root / name[1:]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        roots.append(str(root))
    sources = [repository / "native" / "base" / name for name in ("processors.cpp", "limits/control_groups.cpp")]
    check = build_cpp(Path(__file__).with_name("processors_check.cpp"), *sources)
    roots.append(str(tmp_path / "absent"))
    ran = ended(check, stdin="\n".join(roots))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    granted = dict(zip([*CASES, "no such tree"], ran.stdout.split(), strict=True))
    assert granted == {name: case[3] for name, case in CASES.items()} | {"no such tree": "all"}
