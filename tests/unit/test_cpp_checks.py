"""Programs in C++ check parts of the core that Python does not reach; they are in the folders of the parts."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).resolve().parent
LIMITS = ("base/limits/call_filter.cpp", "base/limits/control_groups.cpp")
SLICES = ("base/slices.cpp", "base/processors.cpp", *LIMITS)
FILES = ("interpose/mapped_file.cpp", "interpose/own_file.cpp")
THREADS = ("-O2", "-pthread")


class Check(NamedTuple):
    """What a program is made of besides itself, below `native`, and what it prints where all is right."""

    sources: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    prints: str = "as described\n"


FRESH_PAGES = Check((*(f"base/{name}.cpp" for name in ("memory/fresh_pages", "memory/huge_file", "numa")), *SLICES))
CHECKS = {
    # Which copies the accelerator takes.
    "accelerator/learning": Check(("accelerator/learning.cpp", "accelerator/ledger.cpp", *FILES)),
    # Copies past the caches and to the one that all cores share: every byte arrives and no other changes.
    "base/cache_copies": Check(flags=("-O2",)),
    # Pages that threads put in place for a driver: all are there, and memory stays zeros.
    "base/fresh_pages": FRESH_PAGES._replace(flags=THREADS),
    "base/fresh_pages thread": FRESH_PAGES._replace(flags=(*THREADS, "-fsanitize=thread")),
    "base/fresh_pages address": FRESH_PAGES._replace(flags=(*THREADS, "-fsanitize=address,undefined")),
    # Where the kernel's pages are of 64 KiB it is asked for whole ones.
    "base/large_pages": Check(
        (*(f"base/{name}.cpp" for name in ("fault_ahead", "memory/access", "pages")), *FILES, *SLICES), THREADS
    ),
    # Memory of results: one holder each, a budget, forks, and threads that take and give back.
    "base/result_pool": Check(
        ("base/memory/result_pool.cpp", "base/fork.cpp", "base/limits/memory_room.cpp", LIMITS[1]), THREADS
    ),
    # The pattern that buffers are filled with, whole and in parts; half of it by compiling.
    "base/pattern": Check(("base/pattern.cpp",), ("-O2",), "as defined\n"),
    # A range is divided among threads into consecutive whole pages.
    "base/slices": Check(SLICES, THREADS),
    # Work for a neighbour of a copy takes as long as is wanted.
    "experiment/interference/amount": Check(),
    # Chunks cover the transfer in whole parts and fit their ring.
    "transfer/chunks": Check(("transfer/pieces/ring_plan.cpp",)),
    # A link that others use is left to them and used again afterwards; one beyond what the host can carry is left; the
    # links of a copy that is divided beforehand end together.
    "transfer/pace": Check(),
    "transfer/ceiling": Check(),
    "transfer/parts": Check(),
}
THOROUGH = {
    # Host threads that work together work, fail and get stuck as promised.
    "base/worker_group": Check(("base/worker_group.cpp", LIMITS[0]), (*THREADS, "-ldl"), "as promised\n"),
    # Operands of CUDA's calls are read as CUDA lays them out; time stamps and kernels cost a share of the time.
    "tracer/functions": Check(("tracer/cuda/functions.cpp", "tracer/content.cpp"), prints=""),
    "tracer/copy_timing": Check(("tracer/cuda/copy_timing.cpp",), prints=""),
    "tracer/window_plan": Check(("tracer/cuda/window_plan.cpp",), prints=""),
}


@pytest.mark.parametrize(
    ("name", "check"),
    [
        *(pytest.param(*each, id=each[0]) for each in CHECKS.items()),
        *(pytest.param(*each, id=each[0], marks=pytest.mark.thorough) for each in THOROUGH.items()),
    ],
)
def test_a_part_does_as_described(name: str, check: Check, repository: Path, run_cpp: Callable[..., str]) -> None:
    program = HERE / f"{name.split(maxsplit=1)[0]}_check.cpp"
    assert (
        run_cpp(program, *(repository / "native" / each for each in check.sources), flags=check.flags) == check.prints
    )
