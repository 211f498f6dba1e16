"""Which copies the accelerator takes: `learning_check.cpp` does the checking."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def test_copies_go_where_they_are_faster(repository: Path, run_cpp: Callable[..., str]) -> None:
    check = Path(__file__).with_name("learning_check.cpp")
    accelerator = repository / "native" / "accelerator"
    assert run_cpp(check, accelerator / "learning.cpp", accelerator / "ledger.cpp") == "as described\n"
