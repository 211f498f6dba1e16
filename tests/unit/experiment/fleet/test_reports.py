"""What a rank sends to rank 0: little, and what its file says."""

import zlib
from pathlib import Path

import msgspec
import pytest

from isthmus.experiment.engine.in_step import OUT_OF_STEP
from isthmus.experiment.fleet import reports as fleet_reports
from isthmus.fleet import survey
from isthmus.record import KIB, End, Launch, Phase, read_run
from tests.synthetic import runs as synthetic

# The default plan on an H200, as it was measured.
DEFAULT_PLAN = Path(__file__).resolve().parents[4] / "results" / "h200-cuda.json.gz"


def test_the_default_plan_needs_few_bytes_a_rank(tmp_path: Path) -> None:
    run = read_run(DEFAULT_PLAN)
    assert run.settings.mode == "default"
    assert len(run.cases) > 1000
    sent = 0
    phases: tuple[Phase, ...] = ("alone", "together")
    for phase in phases:
        launch = Launch(fleet="20260101T000000Z-abcdef", phase=phase, rank=79999, ranks=80000, local_rank=7, node=79992)
        path = tmp_path / f"rank79999-a-long-name-of-a-host-{phase}.json"
        path.write_bytes(msgspec.json.encode(msgspec.structs.replace(run, launch=launch)))
        report = fleet_reports.ended(path, phase, "")
        assert len(report.points) == len(run.cases)
        assert {point.phase for point in report.points} == {phase}
        sent += len(report.encode())
    assert sent <= 64 * KIB


def test_a_report_arrives_as_it_was_sent(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(
        msgspec.json.encode(synthetic.run(synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)})))
    )
    report = fleet_reports.ended(path, "together", "killed")
    assert fleet_reports.decode(report.encode()) == report
    assert report.why == "killed"
    assert report.fingerprint == read_run(path).fingerprint
    assert report.run_file == "run.json"


def test_what_was_out_of_step_is_noted_by_rank_0_and_by_a_survey(tmp_path: Path) -> None:
    run = synthetic.run(
        synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)}),
        end=End(status="complete", message=OUT_OF_STEP),
    )
    path = tmp_path / "run.json"
    path.write_bytes(msgspec.json.encode(run))
    report = fleet_reports.ended(path, "together", "")
    assert (report.why, report.note) == ("", OUT_OF_STEP)
    assert any(text.endswith(OUT_OF_STEP) for text in survey([path]).gathered.notes)
    broken = msgspec.structs.replace(run, end=End(status="interrupted", message="interrupted with 1 of 2 cases"))
    path.write_bytes(msgspec.json.encode(broken))
    assert fleet_reports.ended(path, "together", "interrupted").note == "", "that is why, and no note"


@pytest.mark.parametrize("content", [None, b"", b"{"])
def test_a_file_that_holds_nothing_says_why(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "run.json"
    if content is not None:
        path.write_bytes(content)
    report = fleet_reports.ended(path, "alone", "")
    assert report.why
    assert not report.points
    assert fleet_reports.ended(path, "alone", "killed by SIGKILL").why == "killed by SIGKILL"


def test_reports_of_other_versions_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        fleet_reports.decode(zlib.compress(b'{"kind":"something new"}'))
