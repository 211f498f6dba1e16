"""Whether there is room for memory: `memory_room_check.cpp` reads trees of control groups that are made here."""

import subprocess
from collections.abc import Callable
from pathlib import Path

V2 = "/sys/fs/cgroup"
V1 = "/sys/fs/cgroup/memory"
MOUNTED_V2 = f"30 24 0:26 / {V2} rw - cgroup2 cgroup2 rw\n"
MOUNTED_V1 = f"33 32 0:30 / {V1} rw - cgroup cgroup rw,memory\n"
HOST = {"/proc/meminfo": "MemTotal: 100 kB\nMemFree: 1 kB\nMemAvailable: 50 kB\n"}


def _v2(limit: str, used: int, stat: str = "", folder: str = V2) -> dict[str, str]:
    return {
        "/proc/self/cgroup": "0::/a\n",
        "/proc/self/mountinfo": MOUNTED_V2,
        f"{folder}/memory.max": limit,
        f"{folder}/memory.current": str(used),
        f"{folder}/memory.stat": stat,
    }


# The files, the bytes, and what is said, or a part of it.
CASES: dict[str, tuple[dict[str, str], int, str]] = {
    "nothing known": ({}, 1 << 60, "room"),
    "of the host": (HOST, 50 << 10, "room"),
    "beyond the host": (HOST, (50 << 10) + 1, "51201 bytes of memory were asked for, and this host"),
    "no limit": (_v2("max", 7), 1 << 60, "room"),
    "within v2": (_v2("1000", 400), 600, "room"),
    "beyond v2": (_v2("1000", 400), 601, "leaves 600; give memory back"),
    "above us": (_v2("1000", 400, folder=f"{V2}/a"), 601, f"{V2}/a/memory.max) leaves 600;"),
    "files are given back": (_v2("1000", 900, "anon 500\ninactive_file 200\nactive_file 100\n"), 400, "room"),
    "and no more": (_v2("1000", 900, "anon 500\ninactive_file 200\nactive_file 100\n"), 401, "leaves 400;"),
    "used beyond the limit": (_v2("1000", 2000), 1, "limit of 1000 bytes"),
    "v1": (
        {
            "/proc/self/cgroup": "5:memory:/\n",
            "/proc/self/mountinfo": MOUNTED_V1,
            f"{V1}/memory.limit_in_bytes": "1000",
            f"{V1}/memory.usage_in_bytes": "700",
            f"{V1}/memory.stat": "inactive_file 9000\ntotal_inactive_file 50\n",
        },
        351,
        "memory.limit_in_bytes) leaves 350;",
    ),
    "the tighter of both": (HOST | _v2("1000", 0), 1001, "leaves 1000;"),
}


def test_what_is_asked_for_must_fit_the_host_and_every_group(
    tmp_path: Path, repository: Path, build_cpp: Callable[..., Path]
) -> None:
    lines = []
    for number, (files, size, _) in enumerate(CASES.values()):
        root = tmp_path / str(number)
        root.mkdir()
        for name, text in files.items():
            path = root / name[1:]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        lines.append(f"{size} {root}")
    sources = [
        repository / "native" / "base" / name for name in ("limits/memory_room.cpp", "limits/control_groups.cpp")
    ]
    check = build_cpp(Path(__file__).with_name("memory_room_check.cpp"), *sources)
    ran = subprocess.run([check], input="\n".join(lines), capture_output=True, text=True, check=True)
    for (name, (_, _, expected)), said in zip(CASES.items(), ran.stdout.splitlines(), strict=True):
        assert said == expected if expected == "room" else expected in said, (name, said)
