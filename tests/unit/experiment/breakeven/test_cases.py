"""The break-even experiment on the host backend: its cases, what comes out of a visit, and what is left out and why."""

import pytest

from isthmus.experiment.breakeven.cases import BRIEF, EFFORTS, plan, plan_briefly
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Collected, Rules
from isthmus.machine.devices import open_device
from isthmus.record import GIB, KIB, MIB, Case

QUOTA = Quota(warmups=1, least=3, most=3, seconds=0)


def visited(spec: str, options: Options) -> list[list[Case]]:
    [batch] = plan(open_device(spec), options, GIB).batches
    cases = []
    for subject in batch.prepare().subjects:
        collected = Collected(subject.template)
        subject.visit(QUOTA, collected)
        if subject.template.direction is None:
            cases.append(collected.cases(Rules(least_samples=3)))
    return cases


def test_a_brief_plan_has_what_thresholds_of_pinned_memory_need() -> None:
    planned = plan_briefly(open_device("host"), Options(), GIB)
    templates = [subject.template for batch in planned.batches for subject in batch.prepare().subjects]
    assert {(case.host_memory, case.method, case.bytes) for case in templates} == {
        (kind, method, size)
        for kind in ("pageable", "pinned")
        for method in ("round_trip", "reduction")
        for size in BRIEF.sizes
    }
    assert not planned.skipped
    assert set(BRIEF.sizes) <= set(EFFORTS["default"].sizes), "comparable with longer runs"


def test_a_visit_gives_totals_by_uses_and_the_time_of_a_further_use() -> None:
    for cases in visited("host", Options(sizes=[4 * KIB], memory=["pageable"])):
        method = cases[0].method
        *totals, further = cases
        uses = [case.uses or 0 for case in totals]
        # A machine that did other work at the first visit is asked for fewer uses.
        assert uses == [1, 2, 5, 10][: len(uses)]
        assert uses
        assert [case.method for case in cases] == [*[method] * len(uses), f"further_{method}"]
        assert further.uses is None
        assert {case.verified for case in cases} == {"yes"}
        assert [len(case.samples("host_seconds")) for case in cases] == [*[3] * len(uses), 3 * (uses[-1] - 1)]


@pytest.mark.parametrize(
    ("spec", "options", "memory_bytes", "message"),
    [
        ("host", Options(sizes=[6], memory=["pageable"]), GIB, "no multiple of 4 bytes"),
        ("host", Options(sizes=[MIB], memory=["pageable"]), MIB, "exceed the 1 MiB of host memory"),
        ("host:memory=2MiB", Options(sizes=[MIB], memory=["managed"]), GIB, "half of the free device memory"),
    ],
)
def test_what_cannot_be_measured_is_skipped_with_the_reason(
    spec: str, options: Options, memory_bytes: int, message: str
) -> None:
    planned = plan(open_device(spec), options, memory_bytes)
    skipped = [case for case in planned.skipped if case.host_memory == options.memory[0]]
    assert len(skipped) == 4
    assert all(message in case.note for case in skipped)


def test_buffers_that_cannot_be_had_skip_everything_with_the_reason() -> None:
    [batch] = plan(
        open_device("host:fault=allocate:out_of_memory"), Options(sizes=[MIB], memory=["pageable"]), GIB
    ).batches
    prepared = batch.prepare()
    assert not prepared.subjects
    assert len(prepared.ended) == len(batch.cases)
    assert all("fault injected" in case.note for cases in prepared.ended for case in cases)
