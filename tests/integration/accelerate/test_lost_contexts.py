"""Contexts that go, with all that the library had in them, and captures that end."""

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


@pytest.mark.skipif(IS_SANITIZED, reason="the program gets at the driver by dlsym")
@pytest.mark.parametrize("reach", ["dlsym", "versioned"])
def test_copies_are_left_while_a_graph_is_captured_and_taken_again_however_the_capture_ends(
    reach: str, build: Callable[..., Path], driver: Path, tmp_path: Path
) -> None:
    told, counts = accelerated([build("hostile/ended_captures.cpp"), reach], driver, tmp_path)
    printed = {name: int(value) for name, value in (line.split(": ") for line in told.splitlines())}
    assert printed["wrong"] == 0
    assert counts.left["capturing"][0] == printed["captured"] > 0
    assert sum(row.copies for row in counts.moved) == printed["others"] > 0
