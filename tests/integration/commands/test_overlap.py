"""`isthmus measure overlap` as a user runs it: what it records, what it shows, and what wrong results cost."""

from collections.abc import Callable

import pytest

from isthmus.record import Run
from tests.processes import Done

QUICK = ("overlap", "--sizes", "64KiB", "--time", "0.1s")

Measure = Callable[..., tuple[Done, Run]]


# Its copies are slow enough that work can be as long, whatever else the machine does.
SLOW = "host:rate=0.25GB/s"


@pytest.mark.parametrize("device", [SLOW, "opencl:0"])
def test_a_run_measures_pipelines_and_their_stages_and_draws_timelines(
    measure: Measure, device: str, skip_without: Callable[[str], None], told: Callable[[Run], str]
) -> None:
    skip_without(device)
    done, run = measure(*QUICK, "--device", device)
    assert done.returncode == 0, done.stderr
    assert run.end
    assert run.end.status == "complete"
    measured = [case for case in run.cases if not case.skipped]
    known = measured if device == SLOW else run.cases
    assert {"pipeline", "in_alone", "work_alone", "out_alone", "both_ways", "traced"} == {each.method for each in known}
    assert {case.host_memory for case in known} == {"pinned", "pageable", "staged", "device"}
    assert {case.verified for case in measured if case.method == "pipeline"} <= {"yes"}
    assert all(case.spans for case in measured if case.method == "traced")
    assert "Share of the bound, 64 KiB" in told(run) or device != SLOW
    # What is out of reach of this processor is not left out in silence.
    assert all(case.note for case in run.cases if case.skipped)


def test_wrong_results_fail_the_run(measure: Measure) -> None:
    done, run = measure(*QUICK, "--device", f"{SLOW},fault=work:partial", "--memory", "pinned")
    assert done.returncode == 1
    assert "moved wrong data" in done.stderr
    wrong = [case for case in run.cases if case.verified == "no"]
    assert wrong
    assert all("32-bit words did not come back as computed" in case.note for case in wrong)


def test_a_direction_is_nothing_to_choose(isthmus: Callable[..., Done]) -> None:
    done = isthmus("measure", *QUICK, "--direction", "h2d")
    assert done.returncode == 2
    assert "no experiment that was chosen has a direction to choose" in done.stderr
