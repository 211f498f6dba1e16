"""Pages that threads put in place for a driver: `fresh_pages_check.cpp` does the checking."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.parametrize("sanitizer", ["", "-fsanitize=thread", "-fsanitize=address,undefined"])
def test_all_pages_are_there_and_memory_stays_zeros(
    sanitizer: str, repository: Path, run_cpp: Callable[..., str]
) -> None:
    check = Path(__file__).with_name("fresh_pages_check.cpp")
    names = ("memory/fresh_pages.cpp", "memory/huge_file.cpp", "numa.cpp", "slices.cpp", "processors.cpp")
    limits = ("limits/call_filter.cpp", "limits/control_groups.cpp")
    sources = [repository / "native" / "base" / name for name in (*names, *limits)]
    flags = ["-O2", "-pthread", *([sanitizer] if sanitizer else [])]
    assert run_cpp(check, *sources, flags=flags) == "as described\n"
