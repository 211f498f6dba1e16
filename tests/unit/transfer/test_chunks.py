"""How a transfer is cut into chunks: `chunks_check.cpp` does the checking."""

from collections.abc import Callable
from pathlib import Path


def test_chunks_cover_the_transfer_in_whole_parts_and_fit_their_ring(
    repository: Path, run_cpp: Callable[..., str]
) -> None:
    check = Path(__file__).with_name("chunks_check.cpp")
    transfer = repository / "native" / "transfer"
    sources = [transfer / "pieces" / name for name in ("chunks.cpp", "ring_plan.cpp")]
    assert run_cpp(check, *sources) == "as described\n"
