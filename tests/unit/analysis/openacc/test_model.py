"""OpenACC programs: which cases belong together, how they compare, and what is concluded."""

import pytest

from isthmus.analysis.conclusions import findings
from isthmus.analysis.openacc import openacc_works, whole_arrays
from isthmus.document.finding import Finding
from isthmus.record import KIB, Case, Run
from tests.synthetic import openacc as synthetic_openacc
from tests.synthetic import runs as synthetic


@pytest.fixture
def run() -> Run:
    made: Run = synthetic.run(synthetic_openacc.everything())
    return made


def concluded(cases: list[Case]) -> dict[str, Finding]:
    return {finding.topic: finding for finding in findings(synthetic.run(cases))}


def test_ways_of_the_same_work_belong_together(run: Run) -> None:
    works = openacc_works(run)
    assert [(work.program, work.pack, work.fraction, work.stride_bytes) for work in works] == [
        ("contiguous", "", 0.1, None),
        ("contiguous", "", 1.0, None),
        ("stencil", "cpu", None, None),
        ("stencil", "gpu", None, None),
        ("stride", "", None, 4 * KIB),
    ]
    assert list(works[1].modes) == ["explicit", "automatic", "native"]
    assert list(works[4].modes) == ["explicit", "automatic"]
    assert works[0].compiler == "g++ 12.2.0"
    assert set(works[2].modes["explicit"].phases) == {
        "host_seconds",
        "compute_seconds",
        "pack_seconds",
        "copy_seconds",
        "unpack_seconds",
    }


def test_ratios_are_of_times_in_all(run: Run) -> None:
    (whole,) = whole_arrays(openacc_works(run))
    times = whole.ratio("automatic")
    assert times is not None
    assert times.median == pytest.approx(0.46 / 0.314, rel=0.01)
    assert times.low <= times.median <= times.high
    assert whole.ratio("both") is None


def test_wrong_and_skipped_cases_are_left_out() -> None:
    truths = synthetic_openacc.WHOLE
    wrong = synthetic_openacc.array("contiguous", {"automatic": truths["automatic"]}, fraction=1.0, verified="no")
    right = synthetic_openacc.array("contiguous", {"explicit": truths["explicit"]}, fraction=1.0)
    skipped = synthetic_openacc.skip("contiguous_both", "a reason", fraction=1.0)
    (work,) = openacc_works(synthetic.run([*wrong, *right, skipped]))
    assert list(work.modes) == ["explicit"]


def test_a_name_of_a_later_version_breaks_nothing() -> None:
    cases = [synthetic_openacc.case(name, {"in_seconds": 1.0}) for name in ("mystery", "stencil_dma_explicit")]
    assert len(openacc_works(synthetic.run(cases))) == 2
    assert "openacc_native" not in concluded(cases)


def test_directives_beside_native_calls(run: Run) -> None:
    found = {finding.topic: finding for finding in findings(run)}["openacc_native"]
    assert (found.level, found.cure) == ("note", "")
    assert "directives (g++ 12.2.0) take 1.03 times as long as native calls." in found.text


def test_directives_slower_than_native_calls() -> None:
    truths = synthetic_openacc.WHOLE | {"explicit": synthetic_openacc.Truth(0.27, 0.17)}
    found = concluded(synthetic_openacc.array("contiguous", truths, fraction=1.0))["openacc_native"]
    assert found.level == "ATTENTION"
    assert "Compare the phases" in found.cure


def test_a_slowness_within_noise_is_a_note_with_its_interval() -> None:
    truths = synthetic_openacc.WHOLE | {"explicit": synthetic_openacc.Truth(0.17, 0.18)}
    cases = synthetic_openacc.array("contiguous", truths, fraction=1.0, noise=0.1)
    found = concluded(cases)["openacc_native"]
    assert found.level == "note"
    assert " to " in found.text


@pytest.mark.parametrize(("both", "times"), [("automatic", "1.00 times"), ("explicit", "0.68 times")])
def test_whether_directives_count_in_managed_mode(both: str, times: str) -> None:
    truths = synthetic_openacc.WHOLE | {"both": synthetic_openacc.WHOLE[both]}
    found = concluded(synthetic_openacc.array("contiguous", truths, fraction=1.0))["openacc_managed"]
    assert found.text.startswith(f"Data directives in managed mode: {times} the time of managed memory alone")
