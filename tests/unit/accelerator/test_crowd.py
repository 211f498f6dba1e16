"""How busy the machine is: `crowd_check.cpp` reads files as the kernel has them."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("0.20 0.18 0.12 3/80 11206\n", 3),
        ("99.00 98.00 97.00 160/4000 1\n", 160),
        ("", -1),
        ("0.20 0.18 0.12\n", -1),
        ("0.20 0.18 0.12 x/80 11206\n", -1),
        ("3/80", 3),
    ],
)
def test_threads_that_want_to_run_are_counted(
    line: str, expected: int, repository: Path, build_cpp: Callable[..., Path], tmp_path: Path
) -> None:
    file = tmp_path / "loadavg"
    file.write_text(line, "utf-8")
    check = Path(__file__).with_name("crowd_check.cpp")
    built = build_cpp(check, repository / "native" / "accelerator" / "crowd.cpp")
    found = subprocess.run([built, file], capture_output=True, check=True, text=True)
    assert int(found.stdout) == expected
    assert subprocess.run([built, tmp_path / "none"], capture_output=True, check=True, text=True).stdout == "-1\n"
