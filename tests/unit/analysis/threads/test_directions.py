"""Whether threads that wait for copies spin."""

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


@pytest.mark.parametrize(("busy", "cause", "fixed"), [(0.98, "spins", True), (0.04, "sleeps", False)])
def test_whether_waiting_spins(cases: list[Case], busy: float, cause: str, fixed: bool) -> None:
    known = [msgspec.structs.replace(case, busy_cpus=busy * (case.threads or 1)) for case in cases]
    (finding,) = (each for each in findings(synthetic.run(known)) if each.topic == "threads_busy")
    assert finding.text.startswith(f"CPUs busy while pinned memory is copied H2D: {busy:.2f} with one thread, ")
    assert cause in finding.cause
    assert bool(finding.do) == fixed
    assert "threads_busy" not in texts(synthetic.run(cases)), "older runs did not measure it"
