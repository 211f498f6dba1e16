"""How much of a CUDA device kernels that copy take: what fills the link, what a table says, what a caller bounds."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.processes import python

_HERE = Path(__file__).resolve()

# Rows far apart of page-locked memory, which kernels copy; of one thread of each device alone.
PROGRAM = """
import ctypes, json, sys
import numpy as np
import isthmus
from tests.fake_driver import driver, enter, pinned

session = isthmus.Session("cuda:0", **json.loads(sys.argv[1]))
enter()
ROWS, WIDTH = 4096, 256
memory = pinned(2 * ROWS * WIDTH)
memory[:] = np.arange(memory.size) % 251
host, there = memory.reshape(ROWS, 2, WIDTH), session.empty((ROWS, 2, WIDTH), np.uint8)

def launched(to, source):
    how = session.explain(to, source)
    session.copy(to, source)
    launch = [ctypes.c_uint.in_dll(driver, f"fake_launched_{each}").value for each in ("blocks", "threads")]
    return [how.method, how.kernel_blocks, *launch, str(how)]

expected = host[:, 0].copy()
found = {"h2d": launched(there[:, 0], host[:, 0])}
memory[:] = 0
found["d2h"] = launched(host[:, 0], there[:, 0])
assert (host[:, 0] == expected).all(), "all arrived"
found["d2d"] = launched(session.empty((ROWS, 2, WIDTH), np.uint8)[:, 1], there[:, 0])
print(json.dumps(found))
"""

KERNELS = [
    f"pieces direction={direction} memory=pinned apart=both layout=regular width=256 count=4096 method=kernel seconds=1"
    for direction in ("h2d", "d2h")
]
DRIVERS = [f"buffer direction={direction} from=0 method=driver seconds=1" for direction in ("h2d", "d2h")]

Copies = Callable[..., dict[str, Any]]


@pytest.fixture
def copies(compiled: Callable[..., Path], tmp_path: Path) -> Copies:
    """For each direction the method, the blocks that explain names, the blocks and threads launched, and its text."""

    def run(*lines: str, link: str = "5 16 5 16", **options: int) -> dict[str, Any]:
        table = tmp_path / "own.table"
        table.write_text("\n".join(["isthmus transfer table 1", "origin test", *DRIVERS, *lines, *KERNELS, "end", ""]))
        libraries = [str(compiled(f"fake_{library}.cpp").parent) for library in ("cuda", "nvml")]
        done = python(
            PROGRAM,
            json.dumps(options | {"table": str(table)}),
            env={"LD_LIBRARY_PATH": os.pathsep.join(libraries), "FAKE_NVML_LINK": link},
            cwd=_HERE.parents[3],
        )
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        assert {found[direction][0] for direction in ("h2d", "d2h")} == {"kernel"}
        return found

    return run


# 1 MiB in units of 16 bytes, four a thread: 16 blocks of 1,024 threads and no more.
ALL = 16


@pytest.mark.parametrize(
    ("link", "to_device", "to_host"),
    [("1 16 5 16", 4, 2), ("4 16 4 16", 2, 2), ("3 4 3 4", 2, 2), ("6 16 6 16", 8, 4), ("", ALL, ALL)],
    ids=["generation 5, asleep", "generation 4", "narrow", "generation 6", "unknown"],
)
def test_kernels_take_what_fills_the_link_and_copies_within_the_device_all_of_it(
    copies: Copies, link: str, to_device: int, to_host: int
) -> None:
    found = copies(link=link)
    for direction, blocks in (("h2d", to_device), ("d2h", to_host)):
        _, explained, launched, threads, text = found[direction]
        assert (explained or ALL, launched, threads) == (blocks, blocks, 1024)
        assert (f"kernel of {explained} blocks" in text) == (explained > 0)
    assert found["d2d"][1:4] == [0, ALL, 1024]


def test_a_table_says_it_for_each_direction(copies: Copies) -> None:
    found = copies("kernel direction=h2d blocks=3", "kernel direction=d2h blocks=5")
    assert [found[direction][1:3] for direction in ("h2d", "d2h")] == [[3, 3], [5, 5]]


def test_a_session_bounds_all_of_them(copies: Copies) -> None:
    found = copies("kernel direction=h2d blocks=3", kernel_blocks=1)
    assert [found[direction][1:3] for direction in ("h2d", "d2h", "d2d")] == [[1, 1], [1, 1], [1, 1]]
    assert [found[direction][1] for direction in ("h2d", "d2h")] == [1, 1]
    more = copies("kernel direction=h2d blocks=3", kernel_blocks=8)
    assert [more[direction][1] for direction in ("h2d", "d2h", "d2d")] == [3, 2, 8], "a bound adds none"
