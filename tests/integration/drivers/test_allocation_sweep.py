"""Each allocation that the library makes fails in turn: no process dies, no wrong byte is called right."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import ended


@pytest.fixture(scope="module")
def sweep(linked: Callable[[str], Path]) -> Path:
    return linked("allocation_sweep.cpp")


# What opening the first session allocates is mostly the names of files: few points are enough. Opening another takes so
# few that each of them fails. Of all others every seventh fails, and under the address sanitizer every 28th;
# ``allocation_sweep DEVICE copies once 1`` takes them all.
@pytest.mark.thorough
@pytest.mark.parametrize("lasting", ["once", "sticky"])
@pytest.mark.parametrize(
    ("phase", "least", "stride"), [("open", 500, 41), ("reopen", 40, 1), ("copies", 300, 7), ("others", 300, 7)]
)
@pytest.mark.parametrize("device", ["host", "cuda:0"])
def test_none_costs_a_process_or_a_byte(
    sweep: Path,
    compiled: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    phase: str,
    least: int,
    stride: int,
    lasting: str,
) -> None:
    if device != "host":
        monkeypatch.setenv("LD_LIBRARY_PATH", str(compiled("fake_cuda.cpp").parent))
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        stride *= 4
    done = ended(sweep, device, phase, lasting, str(stride), timeout=600)
    *bad, last = done.stdout.splitlines()
    assert bad == [], f"{last}: {done.stderr[-2000:]}"
    points = int(last.split()[1])
    assert points >= least, "the sweep reaches what allocates"
