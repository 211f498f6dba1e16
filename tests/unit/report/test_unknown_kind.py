"""A run file of a newer version may have a memory kind that this one does not know: it stays readable everywhere."""

import io

import msgspec
import pytest

from isthmus.compare import compare
from isthmus.plan import answer
from isthmus.record import MIB, BufferNeed, Run, rows
from isthmus.report import formats_for, write
from isthmus.report.runs import runs_document
from tests.synthetic import runs

UNKNOWN = "pinned_by_light"


@pytest.fixture(scope="module")
def run() -> Run:
    truth: dict[runs.Key, runs.Truth] = {
        ("copy", "h2d", "pinned"): runs.Truth(8e-6, 55e9),
        ("copy", "h2d", UNKNOWN): runs.Truth(8e-6, 40e9),
    }
    measured = runs.cases(truth, [MIB, 16 * MIB, 64 * MIB])
    gone = msgspec.structs.replace(measured[-1], bytes=4, series=[], skipped=True, note="no light here")
    return runs.run([*measured, gone])


@pytest.mark.parametrize("name", [each.name for each in formats_for("runs")])
def test_every_format_shows_it_by_its_field_name(run: Run, name: str) -> None:
    out = io.StringIO()
    write(runs_document([run]), name, out)
    shown = " ".join(out.getvalue().split())
    assert UNKNOWN in shown or UNKNOWN.replace("_", " ") in shown


def test_it_is_compared_and_does_not_keep_a_plan_from_its_answer(run: Run) -> None:
    comparison = compare(run, run)
    assert {case.pair.base.host_memory for case in comparison.judgement.cases} == {"pinned", UNKNOWN}
    assert [way.name for way in answer(run, BufferNeed(16 * MIB, source="pinned")).methods] == ["pinned"]
    assert {row["host_memory"] for row in rows([run])} == {"pinned", UNKNOWN}
