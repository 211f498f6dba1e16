"""Handlers of signals that come while a program copies into page-locked memory: they run as without the library."""

from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.ledger import read_counts
from tests.integration.accelerate.programs import IS_SANITIZED, ran_both

pytestmark = pytest.mark.skipif(IS_SANITIZED, reason="a sanitizer stands before memcpy and handlers of signals")

SCENARIOS = [
    "run-on-the-thread-that-they-interrupt",
    "jump-with-nothing-left-blocked",
    "run-once",
    "get-what-was-sent",
    "stay-blocked-where-the-program-says-so",
    "are-told-as-they-were-set",
]


@pytest.fixture(scope="module")
def handlers(build: Callable[..., Path]) -> Path:
    return build("hostile/handlers.cpp")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_handlers_of_signals(scenario: str, handlers: Path, driver: Path, tmp_path: Path) -> None:
    plain = ran_both([handlers, scenario], driver, tmp_path)
    assert plain.returncode == 0, plain.stdout + plain.stderr
    assert plain.stdout.endswith("wrong: 0\n")
    assert any(row.way == "into_pinned" and row.copies > 0 for row in read_counts(tmp_path).moved)
