"""How a range is divided among threads: `slices_check.cpp` does the checking."""

from collections.abc import Callable
from pathlib import Path


def test_slices_are_consecutive_whole_pages(repository: Path, run_cpp: Callable[..., str]) -> None:
    check = Path(__file__).with_name("slices_check.cpp")
    names = ("slices.cpp", "processors.cpp", "limits/call_filter.cpp", "limits/control_groups.cpp")
    sources = [repository / "native" / "base" / name for name in names]
    assert run_cpp(check, *sources, flags=("-O2", "-pthread")) == "as described\n"
