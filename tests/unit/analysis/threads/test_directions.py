"""That copies of many threads arrived right, and what both directions at once move of twice one, in sentences."""

import msgspec
import pytest

from isthmus.analysis.threads.findings import findings
from isthmus.record import Case, Run
from tests.synthetic import runs as synthetic
from tests.synthetic import threads as synthetic_threads


def texts(run: Run) -> dict[str, str]:
    return {finding.topic: finding.text for finding in findings(run)}


@pytest.fixture
def cases() -> list[Case]:
    return synthetic_threads.h200_cases()


def test_the_most_threads_whose_contents_were_right_are_named(cases: list[Case]) -> None:
    right = texts(synthetic.run(cases))["threads_right"]
    assert right.startswith("Right with 64 threads at once: contents were compared in "), "32 for each direction"
    wrong = [*cases[1:], msgspec.structs.replace(cases[0], verified="no", note="byte 7: 0x00, expected 0x2a")]
    assert "threads_right" not in texts(synthetic.run(wrong))


def test_both_directions_are_held_against_the_sum_of_each(cases: list[Case]) -> None:
    found = {finding.topic: finding for finding in findings(synthetic.run(cases))}
    pinned = found["threads_both_pinned"]
    assert pinned.text.startswith("Both directions at once move ")
    assert "% of the two directions' best added up" in pinned.text
    one_way = [case for case in cases if case.direction != "both"]
    assert not [topic for topic in texts(synthetic.run(one_way)) if topic.startswith("threads_both")]


@pytest.mark.parametrize(("busy", "cause", "fixed"), [(0.98, "spins", True), (0.04, "sleeps", False)])
def test_whether_waiting_spins(cases: list[Case], busy: float, cause: str, fixed: bool) -> None:
    known = [msgspec.structs.replace(case, busy_cpus=busy * (case.threads or 1)) for case in cases]
    (finding,) = (each for each in findings(synthetic.run(known)) if each.topic == "threads_busy")
    assert finding.text.startswith(f"CPUs busy while pinned memory is copied H2D: {busy:.2f} with one thread, ")
    assert cause in finding.cause
    assert bool(finding.do) == fixed
    assert "threads_busy" not in texts(synthetic.run(cases)), "older runs did not measure it"
