"""Totals and thresholds of runs whose truth is known."""

import math
from itertools import pairwise

import numpy as np
import pytest

from isthmus.analysis.breakeven.measured import Totals, interpolated, measured_totals
from isthmus.analysis.breakeven.thresholds import Breakeven, Contest
from isthmus.analysis.statistics.resample import DRAWS
from isthmus.record import KIB, MIB, Case, Run
from tests.synthetic import breakeven as synthetic_breakeven
from tests.synthetic import runs as synthetic


def measured(run: Run) -> Breakeven:
    return Breakeven(measured_totals(run))


@pytest.fixture(scope="module")
def run() -> Run:
    return synthetic.run(synthetic_breakeven.breakeven())


@pytest.fixture(scope="module")
def answers(run: Run) -> Breakeven:
    return measured(run)


def flat(value: float) -> np.ndarray:
    return np.full(1 + DRAWS, value)


def test_totals_are_measured_where_they_are_and_grow_by_one_use_more_beyond() -> None:
    totals = Totals({64: {1: flat(10.0), 2: flat(12.0), 10: flat(44.0)}, 128: {1: flat(20.0)}}, {64: flat(4.0)})
    assert totals.at(2)[64][0] == 12.0
    assert totals.at(6)[64][0] == 28.0
    assert totals.at(1000)[64][0] == 44.0 + 990 * 4.0
    assert list(totals.at(1)) == [64, 128]
    # Nothing says what one use more takes at the larger size.
    assert list(totals.at(2)) == [64]


def test_seconds_between_sizes_lie_on_a_line_in_logarithms() -> None:
    seconds = {100: flat(1.0), 400: flat(4.0)}
    between = interpolated(seconds, 200)
    assert between is not None
    assert between[0] == pytest.approx(2.0)
    assert interpolated(seconds, 99) is None
    assert interpolated(seconds, 401) is None


def truth(contest: Contest) -> tuple[str, float]:
    """Found without any model: from which of many sizes on the challenger's total is the smaller one."""
    sizes = [round(4 * KIB * 2 ** (step / 32)) for step in range(15 * 32 + 1)]
    machine = synthetic_breakeven.H200
    wins = [
        machine.total(contest.case, contest.challenger, contest.uses, size)
        < machine.total(contest.case, contest.incumbent, contest.uses, size)
        for size in sizes
    ]
    changes = [index for index, (one, other) in enumerate(pairwise(wins)) if one != other]
    if not changes:
        return ("always" if wins[0] else "never"), 0.0
    return ("from" if wins[-1] else "up_to"), float(sizes[changes[-1]])


@pytest.mark.parametrize("uses", [1, 2, 5, 10, 100])
@pytest.mark.parametrize("challenger", ["pinned", "registered", "touched_registered", "staging", "managed_prefetch"])
@pytest.mark.parametrize("case", ["round_trip", "reduction"])
def test_thresholds_against_pageable_memory_are_the_true_ones(
    answers: Breakeven, case: str, challenger: str, uses: int
) -> None:
    contest = Contest(case, uses, "pageable", challenger)
    found = answers.thresholds[contest]
    state, size = truth(contest)
    # Lines in logarithms between sizes a factor of 4 apart are not quite the sums of costs.
    if not found.certain:
        place = {"always": 0.0, "never": math.inf}.get(state, size)
        assert found.low * 0.7 <= place <= found.high * 1.3
        return
    assert found.state == state
    if state in {"from", "up_to"}:
        assert found.value == pytest.approx(size, rel=0.3)


@pytest.mark.parametrize("case", ["round_trip", "reduction_in_place"])
@pytest.mark.parametrize("size", [64 * KIB, MIB, 64 * MIB])
def test_the_least_number_of_uses_is_the_true_one(answers: Breakeven, case: str, size: int) -> None:
    machine = synthetic_breakeven.H200
    least = answers.least_uses(case, size, "pageable", "pinned")
    assert least is not None
    true = next(
        uses
        for uses in range(1, 10_000)
        if machine.total(case, "pinned", uses, size) < machine.total(case, "pageable", uses, size)
    )
    assert 0.9 * least.low <= true <= 1.1 * least.high
    assert least.value == pytest.approx(true, rel=0.1, abs=1)


def test_more_uses_of_a_way_whose_use_is_slower_lose_again(answers: Breakeven) -> None:
    # Faulting pages over is slow for each use, and managed memory is cheaper to get than pinned memory.
    least = answers.least_uses("round_trip", 64 * KIB, "pinned", "managed")
    assert least is not None
    assert least.state == "up_to"


def test_uses_at_a_size_that_was_not_measured(answers: Breakeven) -> None:
    assert answers.least_uses("round_trip", 1 << 40, "pageable", "pinned") is None
    assert answers.least_uses("round_trip", MIB, "pageable", "write_combined") is None
    between = answers.least_uses("round_trip", 2 * MIB, "pageable", "pinned")
    around = [answers.least_uses("round_trip", size, "pageable", "pinned") for size in (MIB, 4 * MIB)]
    assert between
    assert all(around)
    assert around[1].value <= between.value <= around[0].value  # type: ignore[union-attr]


def test_the_speed_up_over_pageable_memory_encloses_the_true_one(answers: Breakeven) -> None:
    machine = synthetic_breakeven.H200
    found = answers.speed_up("reduction", "touched_registered", 1)
    for size, speed in found.items():
        true = machine.total("reduction", "pageable", 1, size) / machine.total(
            "reduction", "touched_registered", 1, size
        )
        assert speed.low * 0.99 < true < speed.high * 1.01
    assert list(found) == list(synthetic_breakeven.SIZES)


def test_the_fastest_way_is_the_true_one_within_noise(answers: Breakeven) -> None:
    machine = synthetic_breakeven.H200
    for size in (4 * KIB, MIB, 128 * MIB):
        best = min(machine.total("round_trip", way, 1, size) for way in synthetic_breakeven.WAYS)
        assert machine.total("round_trip", answers.fastest("round_trip", 1, size)[0], 1, size) < 1.08 * best
    among = ("pageable", "touched_registered")
    assert answers.fastest("round_trip", 1, 4 * KIB, among=among) == ["pageable"]
    assert answers.fastest("round_trip", 1, 128 * MIB, among=among) == ["touched_registered"]


def test_a_way_that_was_measured_at_few_sizes_is_compared_at_those() -> None:
    cases: list[Case] = synthetic_breakeven.breakeven()
    some = [case for case in cases if case.host_memory != "mapped" or case.bytes <= MIB]
    found = measured(synthetic.run(some)).thresholds[Contest("round_trip", 1, "pageable", "mapped")]
    assert (found.first, found.last) == (4 * KIB, MIB)
    assert found.state == "never"


def spread(value: float, share: float) -> np.ndarray:
    """An estimate whose draws lie evenly within a share of it to either side."""
    return np.concatenate([[value], np.linspace(value * (1 - share), value * (1 + share), DRAWS)])


def test_a_way_that_is_certainly_slower_somewhere_is_not_the_fastest_there() -> None:
    pageable = Totals({64: {1: flat(18.0)}, 128: {1: flat(30.0)}}, {})
    # By a little for certain, not for certain by a factor that matters.
    staging = Totals({64: {1: spread(22.0, 0.17)}, 128: {1: flat(20.0)}}, {})
    found = Breakeven({("reduction", "pageable"): pageable, ("reduction", "staging"): staging})
    assert found.fastest("reduction", 1, 64) == ["pageable"]
    assert found.fastest("reduction", 1, 128) == ["staging"]


def test_ways_within_noise_of_the_fastest_are_tied_with_it() -> None:
    totals = {"pageable": Totals({64: {1: spread(22.0, 0.3)}}, {}), "mapped": Totals({64: {1: flat(20.0)}}, {})}
    found = Breakeven({("round_trip", way): each for way, each in totals.items()})
    assert found.fastest("round_trip", 1, 64) == ["mapped", "pageable"]


def test_noise_of_the_same_uses_ranks_no_way_before_a_kept_buffer() -> None:
    totals = {
        "pinned": Totals({64: {1: flat(30.0)}}, {64: flat(9.0)}),
        "registered": Totals({64: {1: flat(25.0)}}, {64: flat(9.5)}),
        "staging": Totals({64: {1: flat(10.0)}}, {64: flat(10.0)}),
    }
    found = Breakeven({("round_trip", way): each for way, each in totals.items()})
    assert found.fastest("round_trip", 1000, 64) == ["staging"]
    assert found.fastest("round_trip", 1000, 64, among=("pinned", "registered")) == ["registered"]
