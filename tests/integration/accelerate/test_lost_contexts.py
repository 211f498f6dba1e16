"""Contexts that go, with all that the library had in them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.accelerate.programs import IS_SANITIZED, accelerated


@pytest.mark.skipif(IS_SANITIZED, reason="the program gets at the driver by dlsym, and sanitizers keep memory")
@pytest.mark.parametrize("reach", ["dlsym", "address"])
@pytest.mark.parametrize("what", ["reset", "destroy"])
def test_a_context_that_goes_takes_the_threads_and_the_memory_of_its_session_along(
    what: str, reach: str, build: Callable[..., Path], driver: Path, tmp_path: Path
) -> None:
    told, counts = accelerated([build("lost_contexts.cpp"), reach, what, "30"], driver, tmp_path)
    assert told == "threads: 0\nMiB: 0\nwrong: 0\n"
    copies = sum(row.copies for row in counts.moved)
    assert copies >= 30 if what == "reset" else counts.left["other_context"][0] >= 30
