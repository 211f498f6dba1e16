"""The pattern that buffers are filled with: `pattern_check.cpp` does the checking, half of it by compiling."""

from collections.abc import Callable
from pathlib import Path


def test_pattern_is_as_defined_whole_and_in_parts(repository: Path, run_cpp: Callable[..., str]) -> None:
    check = Path(__file__).with_name("pattern_check.cpp")
    assert run_cpp(check, repository / "native" / "base" / "pattern.cpp", flags=("-O2",)) == "as defined\n"
