"""What plans say of needs, by runs whose truth is known: methods and their steps, what has no price, and why."""

from collections.abc import Callable, Mapping
from functools import cache

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from isthmus.plan import answer
from isthmus.record import (
    GIB,
    KIB,
    MIB,
    BufferNeed,
    Case,
    ManagedNeed,
    Need,
    PiecesNeed,
    PipelineNeed,
    Run,
    SectionNeed,
)
from isthmus.report.plan import plan_document
from tests.snapshots.documents import on_terminal
from tests.snapshots.subjects import interference
from tests.synthetic import batching, breakeven, managed, runs, strided

ISTHMUS: runs.Key = ("isthmus", "h2d", "pageable")


def _wrong() -> list[Case]:
    """Copies of pinned memory, and pieces by kernels."""
    spoiled = ("copy", "kernel")
    cases = [*breakeven.bandwidth(), *batching.h200_cases()]
    return [
        replace(case, verified="no") if case.host_memory == "pinned" and case.method in spoiled else case
        for case in cases
    ]


def _skipped() -> list[Case]:
    mapped = runs.skips(("kernel", "h2d", "mapped"), [MIB], "kernels of this device do not reach host memory")
    system = managed.skips(("system", "pageable"), "neither HMM nor ATS")
    kept = [case for case in breakeven.bandwidth() if case.host_memory != "mapped"]
    return [*kept, *mapped, *managed.cases(), *system]


def _one_section() -> list[Case]:
    """And kernels that pack, of sections that are far larger."""
    few = strided.grid({"section": lambda _, rows: 1e-5 + 1e-9 * rows})
    return [*few, *(strided.case("pack", 40e-6, width, 2050, pitch=16400) for width in (8, 16, 32))]


RUNS: Mapping[str, Callable[[], list[Case]]] = {
    "all": lambda: [
        *breakeven.everything(),
        *batching.h200_cases(),
        *strided.h200_cases(),
        *managed.cases(),
        *interference(),
    ],
    "isthmus": lambda: [*breakeven.everything(), *runs.cases({ISTHMUS: runs.Truth(1e-5, 500e9)})],
    "bandwidth": breakeven.bandwidth,
    "nothing": list,
    "wrong": _wrong,
    "skipped": _skipped,
    "section": _one_section,
}
PIECES = PiecesNeed(64, KIB, source="pinned")
COLUMN = SectionNeed(300, 20, 20, "d2h", "pinned", 40)
NEEDS: Mapping[str, tuple[str, Need]] = {
    "buffer": ("all", BufferNeed(MIB, uses=3)),
    "buffer-isthmus": ("isthmus", BufferNeed(MIB)),
    "buffer-new": ("all", BufferNeed(16 * MIB, "both", 4, "new")),
    "buffer-pinned": ("all", BufferNeed(MIB, source="pinned")),
    "buffer-huge": ("all", BufferNeed(200 * GIB, source="pinned")),
    "buffer-few": ("bandwidth", BufferNeed(MIB)),
    "buffer-wrong": ("wrong", BufferNeed(MIB, source="pinned")),
    "buffer-skipped": ("skipped", BufferNeed(MIB, source="pinned")),
    "buffer-nothing": ("nothing", BufferNeed(MIB)),
    "new-nothing": ("nothing", BufferNeed(MIB, source="new")),
    "pieces": ("all", PIECES),
    "pieces-pageable": ("all", PiecesNeed(64, KIB)),
    "pieces-layout": ("all", PiecesNeed(64, KIB, source="pinned", host_layout="contiguous")),
    "pieces-strided": ("all", PiecesNeed(64, KIB, source="pinned", host_layout="strided", device_layout="strided")),
    "pieces-many": ("all", PiecesNeed(200_000, 4 * KIB, source="pinned")),
    "pieces-odd": ("all", PiecesNeed(300, 5001, source="pinned")),
    "pieces-wrong": ("wrong", PIECES),
    "pieces-nothing": ("nothing", PIECES),
    "section": ("all", COLUMN),
    "section-layout": ("all", SectionNeed(100, 8, 16, "d2h", "pinned", 16)),
    "section-far": ("section", SectionNeed(40, 10, 10, "d2h", "pinned", 20)),
    "managed": ("all", ManagedNeed(GIB, fraction=0.3)),
    "managed-stride": ("all", ManagedNeed(300 * MIB, stride_bytes=200 * KIB)),
    "managed-little": ("all", ManagedNeed(GIB, fraction=0.001)),
    "managed-small": ("all", ManagedNeed(MIB, fraction=0.5)),
    "managed-skipped": ("skipped", ManagedNeed(GIB, fraction=0.5)),
    "managed-nothing": ("nothing", ManagedNeed(GIB, fraction=0.5)),
    "pipeline": ("all", PipelineNeed(64 * MIB, 2e-3, source="pageable")),
    "pipeline-chunks": ("all", PipelineNeed(64 * MIB, 6e-3, 16, "new")),
    "pipeline-tiny": ("all", PipelineNeed(4096, 1e-6)),
    "pipeline-nothing": ("nothing", PipelineNeed(64 * MIB, 2e-3)),
}


@cache
def measured(name: str) -> Run:
    return runs.run(RUNS[name](), name=name)


@pytest.mark.parametrize("name", NEEDS)
def test_a_need(name: str, text_file: SnapshotAssertion) -> None:
    run, need = NEEDS[name]
    assert on_terminal(plan_document(answer(measured(run), need), explain=True)) == text_file


@pytest.mark.parametrize("name", ["opencl"])
def test_a_device_of_opencl(name: str, text_file: SnapshotAssertion) -> None:
    run = runs.run(breakeven.everything(), device=runs.gpu(backend=name))
    assert on_terminal(plan_document(answer(run, BufferNeed(MIB, source="new")))) == text_file
