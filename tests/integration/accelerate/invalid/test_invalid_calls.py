"""What the driver refuses, or takes although it is unusual: its own answer, at once, and the same in memory."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.accelerate.programs import IS_SANITIZED, accelerated, ran

# Every form once with each change, and a few with two.
LEAST_CALLS, LEAST_REFUSED = 1000, 500


@pytest.mark.skipif(IS_SANITIZED, reason="the program gets at the driver by dlsym")
@pytest.mark.parametrize(
    ("reach", "seed", "surroundings"),
    [
        # Behind the block that is copied to begins another one, as a driver's small blocks do.
        ("dlsym", "1", {"FAKE_CUDA_ADJACENT": "1"}),
        pytest.param("address", "2", {"FAKE_CUDA_ADJACENT": "1"}, marks=pytest.mark.thorough),
        # Or the rest of a range, in which nothing is mapped.
        ("dlsym", "3", {"FAKE_CUDA_SEGMENTS": "65536"}),
    ],
)
def test_calls_with_parameters_that_are_wrong_end_as_the_driver_ends_them(
    reach: str, seed: str, surroundings: dict[str, str], build: Callable[..., Path], driver: Path, tmp_path: Path
) -> None:
    words: list[str | Path] = [build("invalid/invalid_calls.cpp"), reach, seed]
    plain = ran(words, driver, **surroundings)
    assert plain.returncode == 0, plain.stdout + plain.stderr
    lines = plain.stdout.splitlines()
    assert len(lines) >= LEAST_CALLS
    assert sum(" gated " in line for line in lines) >= LEAST_REFUSED
    told, counts = accelerated(words, driver, tmp_path, "eager,min=4096", **surroundings)
    assert [pair for pair in zip(lines, told.splitlines(), strict=True) if pair[0] != pair[1]] == []
    # Those that are right are the library's.
    assert sum(row.copies for row in counts.moved) > LEAST_REFUSED
