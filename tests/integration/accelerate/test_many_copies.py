"""Copies in great number, and allocations that fail: no byte is wrong, and no copy fails."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.accelerate.programs import IS_SANITIZED, accelerated, accelerating, ran

REACH = "thread"


@pytest.mark.skipif(IS_SANITIZED, reason="the program gets at the driver by dlsym")
@pytest.mark.parametrize("count", [5_000, pytest.param(100_000, marks=pytest.mark.thorough)])
def test_random_copies_of_all_forms_are_right(random_copies: Path, count: int, driver: Path, tmp_path: Path) -> None:
    """docs/accelerating.md names the command that makes a million of them on a GPU."""
    words: list[str | Path] = [random_copies, REACH, str(count)]
    told, counts = accelerated(words, driver, tmp_path, "eager,min=4096")
    assert told == f"copies: {count}\nwrong: 0\n"
    assert sum(row.copies for row in counts.moved) > count // 4
    assert counts.left["failed"] == (0, 0)
    assert ran(words, driver).stdout == told


@pytest.mark.skipif(IS_SANITIZED, reason="the program gets at the driver by dlsym")
def test_a_wrong_byte_is_noticed(random_copies: Path, driver: Path) -> None:
    """The check is one: a driver whose copies lack their last bytes does not pass it."""
    done = ran([random_copies, REACH, "500"], driver, FAKE_CUDA_SHORT="1")
    assert done.returncode == 1
    assert "wrong: 0" not in done.stdout
    assert "memory is wrong: form" in done.stderr


@pytest.fixture(scope="module")
def faults(build: Callable[..., Path]) -> Path:
    return build("allocation_faults.cpp", "-rdynamic")


# What the first copy allocates is mostly the names of files: every few points are enough. Of the others every third and
# every fifth is, so that both together miss few.
@pytest.mark.thorough
@pytest.mark.skipif(IS_SANITIZED, reason="a sanitizer has its own allocator")
@pytest.mark.parametrize("lasting", ["once", "sticky"])
@pytest.mark.parametrize(
    ("phase", "options", "least", "stride"),
    [("start", "eager", 1000, 41), ("copies", "eager", 150, 3), ("copies", "eager,verify,threads=2", 150, 5)],
)
def test_no_allocation_that_fails_costs_a_copy_or_a_byte(
    faults: Path, driver: Path, phase: str, options: str, least: int, stride: int, lasting: str
) -> None:
    more = {**accelerating(options=options), "LD_LIBRARY_PATH": str(driver.parent)}
    done = subprocess.run(
        ["env", *(f"{name}={value}" for name, value in more.items()), faults, phase, lasting, str(stride)],
        capture_output=True,
        text=True,
        check=False,
    )
    *bad, last = done.stdout.splitlines()
    assert bad == [], f"{last}: {done.stderr[-2000:]}"
    assert int(last.split()[1]) >= least, "the sweep reaches what allocates"
