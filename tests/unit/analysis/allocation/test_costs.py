"""What memory costs: phases added with their uncertainty, ratios, and the cheapest way to page-locked memory."""

from typing import Any

import pytest

from isthmus.analysis.allocation.model import AllocationCosts, PinnedChoice, allocation_costs, pinned_choices
from isthmus.record import KIB, MIB, Case
from tests.synthetic import allocation as synthetic_allocation
from tests.synthetic import runs as synthetic

SIZES = [KIB, MIB, 16 * MIB]


def costs_of(cases: list[Case]) -> AllocationCosts:
    costs = allocation_costs(synthetic.run(cases))
    assert costs
    return costs


def test_memory_is_there_when_touched_where_a_touch_was_measured() -> None:
    cost = synthetic_allocation.Cost
    truths = {
        (kind, method): cost(seconds, noise=0.0)
        for kind in ("pageable", "pinned")
        for method, seconds in (("allocate", 1.0), ("touch", 10.0), ("free", 100.0))
        if (kind, method) != ("pinned", "touch")
    }
    costs = costs_of(synthetic_allocation.cases(truths, SIZES))
    pageable, pinned = costs.whole("pageable"), costs.whole("pinned")
    assert pageable
    assert pinned
    assert pageable.at(MIB).median == pytest.approx(111.0)
    assert pinned.at(MIB).median == pytest.approx(101.0)


def test_a_ratio_of_costs_has_an_interval_that_holds_the_true_one() -> None:
    cost = synthetic_allocation.Cost
    truths = {("pinned", "free"): cost(1e-3, noise=0.05), ("device", "free"): cost(2e-3, noise=0.05)}
    costs = costs_of(synthetic_allocation.cases(truths, samples=30))
    pinned, device = costs.phase("pinned", "free"), costs.phase("device", "free")
    assert pinned
    assert device
    ratios = [device.over(pinned, size) for size in device.sizes]
    assert all(ratio.low < 2.05 and ratio.high > 1.95 for ratio in ratios)


def ways(pinned: Any, touched: Any) -> AllocationCosts:
    cost = synthetic_allocation.Cost
    truths = {
        ("pinned", "allocate"): pinned,
        ("touched_registered", "allocate"): touched,
        ("pinned", "free"): cost(1e-6),
        ("touched_registered", "free"): cost(1e-6),
    }
    return costs_of(synthetic_allocation.cases(truths, samples=20))


def test_the_cheapest_way_changes_where_the_costs_cross() -> None:
    cost = synthetic_allocation.Cost
    costs = ways(cost(1e-4, 4e-4), cost(9e-4, 1e-4))
    choices: list[PinnedChoice] = pinned_choices(costs)
    assert {choice.cheapest for choice in choices if choice.bytes <= MIB} == {("pinned",)}
    assert {choice.cheapest for choice in choices if choice.bytes >= 4 * MIB} == {("touched_registered",)}
