"""Cost as a fixed part and a part for each byte: found where it is true, and not claimed where it is not."""

from types import ModuleType

import pytest

from isthmus.analysis.allocation.cost_fit import fit_cost
from isthmus.analysis.allocation.model import CostCurve, allocation_costs
from isthmus.record import GIB, KIB, MIB


def curve(synthetic: ModuleType, cases: list[object]) -> CostCurve:
    costs = allocation_costs(synthetic.run(cases))
    assert costs
    (found,) = costs.curves
    return found


def of(synthetic: ModuleType, synthetic_allocation: ModuleType, cost: object, **options: object) -> CostCurve:
    return curve(synthetic, synthetic_allocation.cases({("pinned", "allocate"): cost}, **options))


@pytest.mark.parametrize(("fixed", "per_mib"), [(5e-4, 3.6e-4), (3e-5, 7e-8), (1e-7, 1e-3), (2e-6, 0.0)])
def test_the_truth_lies_in_both_intervals(
    synthetic: ModuleType, synthetic_allocation: ModuleType, fixed: float, per_mib: float
) -> None:
    cost = synthetic_allocation.Cost(fixed, per_mib, noise=0.02)
    (piece,) = fit_cost(of(synthetic, synthetic_allocation, cost, samples=40))
    assert piece.fixed.median == pytest.approx(fixed, rel=0.03)
    assert piece.per_byte.median * GIB == pytest.approx(per_mib * 1024, rel=0.03, abs=0.02 * fixed)
    assert piece.fixed.low <= fixed * 1.01
    assert fixed * 0.99 <= piece.fixed.high
    assert piece.deviation < 0.05


def test_one_wild_size_does_not_bend_the_line(synthetic: ModuleType, synthetic_allocation: ModuleType) -> None:
    cost = synthetic_allocation.Cost(1e-4, 1e-4, noise=0.001)
    cases = synthetic_allocation.cases({("pinned", "allocate"): cost})
    cases[6] = synthetic_allocation.case("pinned", "allocate", cases[6].bytes, [2.4e-4] * 12)
    (piece,) = fit_cost(curve(synthetic, cases))
    assert piece.per_byte.median * MIB == pytest.approx(1e-4, rel=0.01)
    assert piece.deviation == pytest.approx(0.17, abs=0.02)


def test_a_threshold_makes_two_lines(synthetic: ModuleType, synthetic_allocation: ModuleType) -> None:
    cost = synthetic_allocation.Cost(4e-8, 0.0, step=40.0, step_bytes=256 * KIB)
    below, above = fit_cost(of(synthetic, synthetic_allocation, cost))
    assert (below.to_bytes, above.from_bytes) == (64 * KIB, 256 * KIB)
    assert below.flat
    assert above.flat
    assert above.fixed.median == pytest.approx(1.6e-6, rel=0.02)


def test_what_no_line_describes_gets_none(synthetic: ModuleType, synthetic_allocation: ModuleType) -> None:
    times = (1.0, 5.0, 1.0, 5.0, 1.0, 5.0, 1.0, 5.0)
    cases = [
        synthetic_allocation.case("pinned", "allocate", KIB << index, [time] * 8) for index, time in enumerate(times)
    ]
    assert fit_cost(curve(synthetic, cases)) == ()


def test_two_sizes_are_too_few(synthetic: ModuleType, synthetic_allocation: ModuleType) -> None:
    cost = synthetic_allocation.Cost(1e-4, 1e-4)
    assert fit_cost(of(synthetic, synthetic_allocation, cost, sizes=[KIB, MIB])) == ()


def test_neither_part_is_negative(synthetic: ModuleType, synthetic_allocation: ModuleType) -> None:
    # A line through these would cut the axis below zero.
    cases = [
        synthetic_allocation.case("pinned", "allocate", size, [seconds] * 8)
        for size, seconds in ((MIB, 1.0), (2 * MIB, 2.2), (4 * MIB, 4.6))
    ]
    (piece,) = fit_cost(curve(synthetic, cases))
    assert piece.fixed.median == 0
    assert piece.proportional


def test_the_same_run_gives_the_same_intervals(synthetic: ModuleType, synthetic_allocation: ModuleType) -> None:
    cost = synthetic_allocation.Cost(1e-4, 1e-4, noise=0.1)
    first, second = (of(synthetic, synthetic_allocation, cost) for _ in range(2))
    assert fit_cost(first) == fit_cost(second)
