"""Thresholds derived from single costs next to measured ones, on machines whose truth is known."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as replace_case

from isthmus.analysis.breakeven.derived import DERIVED_USES, Derived, analyse_breakeven
from isthmus.analysis.breakeven.findings import findings
from isthmus.record import KIB, Case, Run, Series
from tests.synthetic import breakeven as synthetic_breakeven
from tests.synthetic import runs as synthetic


def derived(run: Run) -> dict[tuple[str, int], Derived]:
    analysis = analyse_breakeven(run)
    assert analysis
    return {(each.contest.case, each.contest.uses): each for each in analysis.derived}


def both(machine: Any = None) -> list[Case]:
    machine = machine or cheap()
    ways = ["pageable", "pinned"]
    return [*synthetic_breakeven.breakeven(machine, ways=ways), *synthetic_breakeven.bandwidth(machine)]


def cheap() -> Any:
    """A machine on which pinning pays from some hundred KiB on."""
    memory = dict(synthetic_breakeven.H200_MEMORY)
    memory["pinned", "allocate"] = synthetic_breakeven.Cost(480e-6, 150e-3 / 2**30)
    memory["pinned", "free"] = synthetic_breakeven.Cost(200e-6, 30e-3 / 2**30)
    return replace(synthetic_breakeven.H200, memory=memory)


def test_costs_that_add_up_give_the_measured_threshold() -> None:
    answers = derived(synthetic.run(both()))
    assert {uses for _, uses in answers} == set(DERIVED_USES)
    for each in answers.values():
        assert each.agrees, each
        assert each.apart is not None
        assert each.loss is not None
        assert each.loss < 0.05


def test_a_program_whose_copies_are_slower_than_alone_is_not_what_costs_say() -> None:
    machine = replace(cheap(), program={("pageable", way): 3.0 for way in ("h2d", "d2h")})
    run = synthetic.run(both(machine))
    far = derived(run)["round_trip", 10]
    assert far.agrees is False
    assert far.apart is not None
    assert far.apart > 0.5, "single copies promise less than the program gains"
    (finding,) = (each for each in findings(run) if each.topic == "breakeven_derived")
    assert finding.text.endswith("Derived thresholds within 25 % of the measured ones: 0 of 8.")
    assert finding.cause.startswith("Near the threshold pinned and pageable memory take about the same")


def test_caches_hold_what_goes_there_but_not_after_a_copy_back() -> None:
    machine = cheap()
    cached = [
        replace_case(case, experiment="breakeven", series=[Series(metric="host_seconds", samples=faster(case))])
        for case in synthetic_breakeven.bandwidth(machine)
        if case.host_memory == "pageable" and case.direction == "h2d"
    ]
    plain, held = derived(synthetic.run(both())), derived(synthetic.run([*both(), *cached]))
    for uses in DERIVED_USES:
        assert held["round_trip", uses].derived.value == pytest.approx(plain["round_trip", uses].derived.value)
        assert held["reduction", uses].derived.value > 1.1 * plain["reduction", uses].derived.value
        assert held["reduction", uses].loss


def faster(case: Case) -> list[float]:
    return [seconds / 2 for seconds in case.samples("host_seconds")]


@pytest.mark.parametrize("lost", ["pinned", "pageable"])
def test_nothing_is_derived_without_the_copies(lost: str) -> None:
    cases = [
        case for case in both() if case.experiment == "breakeven" or (case.host_memory, case.direction) != (lost, "d2h")
    ]
    answers = derived(synthetic.run(cases))
    assert {case for case, _ in answers} == {"reduction"}, "which has no copy back but of its result"
    assert derived(synthetic.run([case for case in cases if case.experiment == "breakeven"])) == {}
    assert derived(synthetic.run([case for case in cases if case.bytes <= 4 * KIB])) == {}, "one size is no curve"
