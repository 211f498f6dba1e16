"""How a transfer is cut into chunks: `chunks_check.cpp` does the checking."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def test_chunks_cover_the_transfer_in_whole_parts(repository: Path, run_cpp: Callable[..., str]) -> None:
    check = Path(__file__).with_name("chunks_check.cpp")
    source = repository / "native" / "transfer" / "pieces" / "chunks.cpp"
    assert run_cpp(check, source) == "as described\n"
