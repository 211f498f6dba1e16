"""Which copies the accelerator takes: `learning_check.cpp` does the checking."""

from collections.abc import Callable
from pathlib import Path


def test_copies_go_where_they_are_faster(repository: Path, run_cpp: Callable[..., str]) -> None:
    check = Path(__file__).with_name("learning_check.cpp")
    native = repository / "native"
    sources = (
        "accelerator/learning.cpp",
        "accelerator/ledger.cpp",
        "interpose/mapped_file.cpp",
        "interpose/own_file.cpp",
    )
    assert run_cpp(check, *(native / source for source in sources)) == "as described\n"
