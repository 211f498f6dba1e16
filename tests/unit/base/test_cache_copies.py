"""Copies past the caches and to the one that all cores share: `cache_copies_check.cpp` does the checking."""

from collections.abc import Callable
from pathlib import Path


def test_every_byte_arrives_and_no_other_changes(run_cpp: Callable[..., str]) -> None:
    assert run_cpp(Path(__file__).with_name("cache_copies_check.cpp"), flags=("-O2",)) == "as described\n"
