"""Derived beside measured thresholds: what counts as the same."""

from dataclasses import replace
from types import ModuleType

import pytest

from isthmus.analysis.breakeven.comparison import BreakevenAnalysis, ThresholdComparison, analyse_breakeven, share_of
from isthmus.analysis.breakeven.thresholds import Contest
from isthmus.record import MIB


def analysed(synthetic: ModuleType, builder: ModuleType, machine: object) -> BreakevenAnalysis:
    analysis = analyse_breakeven(
        synthetic.run([*builder.bandwidth(), *builder.allocation(), *builder.breakeven(machine)])
    )
    assert analysis
    return analysis


@pytest.fixture(scope="module")
def faithful(synthetic: ModuleType, synthetic_breakeven: ModuleType) -> BreakevenAnalysis:
    """Programs that cost what their parts do."""
    return analysed(synthetic, synthetic_breakeven, synthetic_breakeven.H200)


@pytest.fixture(scope="module")
def slower(synthetic: ModuleType, synthetic_breakeven: ModuleType) -> BreakevenAnalysis:
    """Programs in which pageable copies are slower than those that bandwidth measured."""
    machine = replace(synthetic_breakeven.H200, program={("pageable", "h2d"): 1.5})
    return analysed(synthetic, synthetic_breakeven, machine)


def of(analysis: BreakevenAnalysis, *contest: object) -> ThresholdComparison:
    return next(each for each in analysis.comparisons if each.contest == Contest(*contest))  # type: ignore[arg-type]


def test_programs_that_cost_what_their_parts_do_agree(faithful: BreakevenAnalysis) -> None:
    share = share_of(faithful.comparisons)
    assert share.agreeing > 0.95 * share.comparable
    assert share.agreeing + share.near == share.comparable
    assert share.comparable > 400


def test_every_contest_has_an_outcome(faithful: BreakevenAnalysis) -> None:
    assert [each.contest for each in faithful.comparisons] == list(faithful.measured.contests())
    managed = of(faithful, "round_trip", 1, "pageable", "managed")
    assert (managed.outcome, managed.derived) == ("not_derived", None)


def test_both_never_agrees_and_so_do_sizes_within_the_factor(faithful: BreakevenAnalysis) -> None:
    never = of(faithful, "round_trip", 1, "pageable", "pinned")
    assert (never.measured.state, never.outcome) == ("never", "agrees")
    sizes = of(faithful, "round_trip", 10, "pageable", "pinned")
    assert sizes.derived
    assert sizes.outcome == "agrees"
    assert max(sizes.measured.value / sizes.derived.value, sizes.derived.value / sizes.measured.value) <= 1.5


def test_a_cost_that_differs_in_the_program_differs(slower: BreakevenAnalysis) -> None:
    assert of(slower, "reduction", 10, "pageable", "pinned").outcome == "differs"


def test_always_is_near_a_size_that_may_lie_below_the_range(
    synthetic: ModuleType, synthetic_breakeven: ModuleType
) -> None:
    machine = replace(synthetic_breakeven.H200, program={("pageable", "h2d"): 1.15})
    comparison = of(analysed(synthetic, synthetic_breakeven, machine), "round_trip", 100, "pageable", "staging")
    assert comparison.derived
    assert (comparison.measured.state, comparison.derived.state) == ("always", "from")
    assert comparison.derived.low == 0.0
    assert comparison.outcome == "near"


def test_ways_that_cannot_be_told_apart_are_not_counted(slower: BreakevenAnalysis) -> None:
    undecided = [each for each in slower.comparisons if each.outcome == "undecided"]
    assert undecided
    assert all("cannot_tell" in {each.measured.state, each.derived and each.derived.state} for each in undecided)
    share = share_of(slower.comparisons)
    others = sum(each.outcome in {"undecided", "not_derived"} for each in slower.comparisons)
    assert share.comparable + others == len(slower.comparisons)


def test_never_is_compared_over_the_same_range(synthetic: ModuleType, synthetic_breakeven: ModuleType) -> None:
    # Derived costs reach to 128 MiB and would cross there; what was measured ends below.
    some = [case for case in synthetic_breakeven.breakeven() if case.host_memory != "registered" or case.bytes < MIB]
    run = synthetic.run([*synthetic_breakeven.bandwidth(), *synthetic_breakeven.allocation(), *some])
    analysis = analyse_breakeven(run)
    assert analysis
    comparison = of(analysis, "round_trip", 1, "pageable", "registered")
    assert (comparison.measured.state, comparison.outcome) == ("never", "agrees")


def test_a_run_without_the_experiment_has_no_analysis(synthetic: ModuleType, synthetic_breakeven: ModuleType) -> None:
    assert analyse_breakeven(synthetic.run(synthetic_breakeven.bandwidth())) is None


def test_an_analysis_is_kept_for_its_run_alone(synthetic: ModuleType, synthetic_breakeven: ModuleType) -> None:
    one, other = (synthetic.run(synthetic_breakeven.breakeven(sizes=[size])) for size in (MIB, 2 * MIB))
    assert analyse_breakeven(one) is analyse_breakeven(one)
    assert analyse_breakeven(one) is not analyse_breakeven(other)
