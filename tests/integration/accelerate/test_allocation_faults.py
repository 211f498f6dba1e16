"""Allocations that fail: no byte is wrong, and no copy fails."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.accelerate.programs import IS_SANITIZED, accelerating
from tests.processes import ended


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
    done = ended(
        "env", *(f"{name}={value}" for name, value in more.items()), faults, phase, lasting, str(stride), timeout=600
    )
    *bad, last = done.stdout.splitlines()
    assert bad == [], f"{last}: {done.stderr[-2000:]}"
    assert int(last.split()[1]) >= least, "the sweep reaches what allocates"
