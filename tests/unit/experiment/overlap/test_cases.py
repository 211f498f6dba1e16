"""The overlap experiment on the host backend: its grid and bounds, what visits yield, what is left out and why."""

import pytest

from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Collected, Rules
from isthmus.experiment.overlap import cases as overlap
from isthmus.experiment.overlap.cases import MEMORY_KINDS, plan
from isthmus.experiment.overlap.pipelines import Work
from isthmus.machine.devices import open_device
from isthmus.record import GIB, KIB, MIB, Case

QUOTA = Quota(warmups=0, least=2, most=2, seconds=0)
SIZE = 64 * KIB


@pytest.fixture
def reachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device with work of every ratio, whatever this machine's processor is busy with."""
    monkeypatch.setattr(
        overlap,
        "calibrate",
        lambda _seconds_of, _copy, ratios: [Work(ratio, round(10 * ratio), ratio) for ratio in ratios],
    )


def visited(spec: str, options: Options, *, only: str = "") -> list[Case]:
    """The cases of the first batch after a visit each, then those of the timelines."""
    pipes, traces = plan(open_device(spec), options, GIB).batches
    prepared = pipes.prepare()
    cases = [case for group in prepared.ended for case in group]
    for subject in prepared.subjects:
        if only in subject.template.method:
            collected = Collected(subject.template)
            subject.visit(QUOTA, collected)
            cases += collected.cases(Rules(least_samples=2))
    return cases + [case for group in traces.prepare().ended for case in group]


@pytest.mark.usefixtures("reachable")
def test_a_visit_measures_and_checks_and_the_best_pipelines_are_traced() -> None:
    cases = visited("host", Options("quick", sizes=[SIZE]))
    assert not [case for case in cases if case.skipped]
    by_method = {
        method: [case for case in cases if case.method == method] for method in {case.method for case in cases}
    }
    assert set(by_method) == {"pipeline", "in_alone", "work_alone", "out_alone", "traced"}
    assert {case.verified for case in by_method["pipeline"]} == {"yes"}
    assert {case.direction for case in by_method["pipeline"]} == {None}
    assert {case.direction for case in by_method["in_alone"]} == {"h2d"}
    assert {case.host_memory for case in by_method["work_alone"]} == {"device"}
    for case in by_method["traced"]:
        pairs = {(span.stage, span.chunk) for span in case.spans}
        assert pairs == {(stage, chunk) for stage in ("in", "work", "out") for chunk in range(case.pieces or 0)}
        assert min(span.begin for span in case.spans) == 0
        assert len(case.samples("device_seconds")) > 1
        assert not case.samples("host_seconds")
    assert {case.host_memory for case in by_method["traced"]} == set(MEMORY_KINDS)


@pytest.mark.usefixtures("reachable")
def test_the_traced_pipeline_is_the_fastest_of_several_chunks_of_the_main_work() -> None:
    cases = visited("host", Options("quick", sizes=[SIZE], memory=["pinned"]))
    main = [case for case in cases if case.method == "pipeline" and case.work_ratio == 1 and case.pieces != 1]
    fastest = min(
        main, key=lambda case: sorted(case.samples("host_seconds"))[0] + sorted(case.samples("host_seconds"))[1]
    )
    [traced] = [case for case in cases if case.method == "traced"]
    assert (traced.pieces, traced.streams, traced.work_ratio) == (fastest.pieces, fastest.streams, 1)


def test_work_that_is_out_of_reach_changes_places_with_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "even one round of the work takes 2.4 times as long as a copy"
    monkeypatch.setattr(
        overlap,
        "calibrate",
        lambda _seconds_of, _copy, ratios: [Work(ratio, 1, 2.4, reason if ratio < 2 else "") for ratio in ratios],
    )
    batch, _ = plan(open_device("host"), Options("quick", sizes=[SIZE], memory=["pinned"]), GIB).batches
    prepared = batch.prepare()
    measured = [subject.template for subject in prepared.subjects if subject.template.method == "pipeline"]
    skipped = [case for group in prepared.ended for case in group if case.method == "pipeline"]
    assert len(prepared.subjects) + len(prepared.ended) == len(batch.cases)
    assert {case.note for case in skipped} == {reason}
    count = {ratio: sum(case.work_ratio == ratio for case in [*measured, *skipped]) for ratio in (0.3, 1, 3, 10)}
    assert count[3] > count[1] == count[0.3] == count[10]


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize("memory", MEMORY_KINDS)
def test_wrong_results_are_noted_and_not_traced(memory: str) -> None:
    cases = visited("host:fault=work:partial", Options("quick", sizes=[SIZE], memory=[memory]), only="pipeline")
    checked = [case for case in cases if case.method == "pipeline"]
    assert {case.verified for case in checked} == {"no"}
    assert all("32-bit words did not come back as computed" in case.note for case in checked)
    [traced] = [case for case in cases if case.method == "traced"]
    assert traced.note == "no pipeline of several chunks of this memory was measured, so there is none to trace"


@pytest.mark.parametrize(
    ("spec", "options", "memory_bytes", "message"),
    [
        ("host", Options(sizes=[6]), GIB, "6 bytes do not divide into whole 4-byte words for one chunk"),
        ("host", Options(sizes=[MIB]), 2 * MIB, "exceed the 2 MiB of host memory"),
    ],
)
def test_what_cannot_be_planned_is_skipped_with_the_reason(
    spec: str, options: Options, memory_bytes: int, message: str
) -> None:
    planned = plan(open_device(spec), options, memory_bytes)
    assert not planned.batches
    assert planned.skipped
    assert any(message in case.note for case in planned.skipped)


def test_chunks_that_do_not_fit_leave_out_no_others() -> None:
    planned = plan(open_device("host"), Options(sizes=[4 * 16]), GIB)
    assert {case.pieces for case in planned.skipped} == {32, 64}
    assert all("for 32 chunks" in case.note or "for 64 chunks" in case.note for case in planned.skipped)


@pytest.mark.usefixtures("reachable")
@pytest.mark.parametrize(
    ("spec", "lost", "message"),
    [
        # Source and results can be locked, staging memory beside them cannot.
        (f"host:locked={3 * SIZE - 1}", {"staged"}, "to be locked"),
        (f"host:locked={SIZE}", {"pinned", "staged"}, "to be locked"),
        ("host:fault=allocate:out_of_memory", {*MEMORY_KINDS, "device"}, "fault injected"),
    ],
)
def test_memory_that_cannot_be_had_costs_its_own_cases(spec: str, lost: set[str], message: str) -> None:
    options = Options("quick", sizes=[SIZE])
    batch, traces = plan(open_device(spec), options, GIB).batches
    prepared = batch.prepare()
    ended = [case for group in prepared.ended for case in group]
    assert {case.host_memory for case in ended} == lost
    assert all(message in case.note for case in ended)
    assert len(prepared.subjects) + len(ended) == len(batch.cases)
    assert len(traces.prepare().ended) == len(MEMORY_KINDS)


def test_nothing_is_measured_where_no_memory_can_be_locked() -> None:
    options = Options("quick", sizes=[SIZE], memory=["pinned"])
    [cases] = [visited("host:locked=0B", options)]
    assert cases
    assert all(case.skipped for case in cases)


def test_staging_has_as_many_threads_as_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isthmus._native.allowed_processors", lambda: 3)
    planned = plan(open_device("host"), Options(sizes=[SIZE], memory=["staged"]), 0)
    assert max(case.streams or 0 for case in planned.skipped if case.host_memory == "staged") == 3
