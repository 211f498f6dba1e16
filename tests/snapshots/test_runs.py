"""Reports of kept runs, of runs whose truth is known, and of two runs side by side."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from isthmus.record import Run, read_run
from isthmus.report.runs import runs_document
from isthmus.report.screen import screen_document
from tests.snapshots.documents import abridged, charts, in_format, on_pages, on_terminal
from tests.snapshots.subjects import MADE

RESULTS = Path(__file__).resolve().parents[2] / "results"
KEPT = (
    "h100",
    "h100-latency",
    "h100x2-latency",
    "h100x2-peers",
    "h100x2-stencil-30720",
    "h100x2-stencil-scaling",
    "h200-all",
    "h200-managed",
    "h200-openacc",
    "h200-opencl-all",
    "h200-overlap",
    "h200-seed000",
    "h200-stencil-scaling",
    "h200-stencil-two-ranks",
    "h200x2-stencil-30720",
    "h200x2-threads",
    "h200x4-paths",
    "pocl",
    "pocl-managed",
    "pocl-pieces",
)
TOGETHER = (
    ("h100-latency", "h100x2-latency"),
    ("h100x2-stencil-30720", "h200x2-stencil-30720"),
    ("h200-seed000", "wrong"),
    ("h200-managed", "pocl-managed"),
    ("h200-overlap", "overlap"),
    ("h200x2-threads", "threads"),
    ("h100x2-peers", "peers"),
)


@cache
def run_named(name: str) -> Run:
    return MADE[name]() if name in MADE else read_run(RESULTS / f"{name}.json.gz")


# Takes as long as all others together, which show each of its experiments, too.
LARGEST = "h200-all"
EVERY = [pytest.param(name, marks=pytest.mark.thorough) if name == LARGEST else name for name in (*KEPT, *MADE)]


@pytest.mark.parametrize("name", EVERY)
def test_a_report(name: str, text_file: SnapshotAssertion, json_file: SnapshotAssertion) -> None:
    document = runs_document([run_named(name)])
    assert on_terminal(document) == text_file
    assert on_terminal(screen_document(run_named(name))) == text_file(name="screen")
    assert charts(document) + on_pages(document) == text_file(name="page")
    assert abridged(in_format(document, "json")) == json_file


@pytest.mark.parametrize("names", TOGETHER, ids="+".join)
def test_runs_side_by_side(names: Sequence[str], text_file: SnapshotAssertion) -> None:
    document = runs_document([run_named(name) for name in names])
    assert on_terminal(document) == text_file
    assert charts(document) == text_file(name="page")
