"""What created threads cost: the difference and its share recover the truth."""

from collections.abc import Sequence

import pytest

from isthmus.analysis.threads.findings import SpawnCost, spawn_costs
from isthmus.analysis.threads.model import thread_curves
from isthmus.record import GIB, MIB, Run
from tests.synthetic import runs as synthetic
from tests.synthetic import threads as synthetic_threads

RATES = {
    ("h2d", "pinned"): lambda threads: 55.0,
    ("both", "pinned"): lambda threads: 99.0,
    ("h2d", "pageable"): lambda threads: 7.0,
}


def costs(run: Run) -> Sequence[SpawnCost]:
    return spawn_costs(thread_curves(run))


def measured(fixed: float, per_thread: float) -> Sequence[SpawnCost]:
    ways = synthetic_threads
    truth = ways.Costs(fixed=fixed, per_thread=per_thread)
    return costs(synthetic.run(ways.cases(RATES, (ways.SHARED, ways.SPAWN), (64 * MIB, GIB), costs=truth)))


def test_seconds_and_share_of_one_transfer() -> None:
    (cost,) = [
        cost
        for cost in measured(20e-6, 25e-6)
        if cost.curve.subject == ("pinned", "h2d", 64 * MIB) and cost.threads == 16
    ]
    assert cost.seconds.median == pytest.approx(420e-6, rel=0.05)
    assert cost.seconds.low < cost.seconds.median < cost.seconds.high
    assert cost.share.median == pytest.approx(420e-6 / (64 * MIB / 55e9), rel=0.05)
    assert cost.is_resolved


def test_threads_of_both_directions_are_created() -> None:
    found = measured(0.0, 25e-6)
    (cost,) = [each for each in found if each.curve.subject == ("pinned", "both", 64 * MIB) and each.threads == 32]
    assert cost.seconds.median == pytest.approx(64 * 25e-6, rel=0.05)


def test_no_cost_is_not_told_from_zero() -> None:
    found = measured(0.0, 0.0)
    assert sum(cost.is_resolved for cost in found) <= len(found) // 5


def test_only_transfers_that_differ_in_nothing_else_are_compared() -> None:
    ways = synthetic_threads
    rates = {("h2d", "pinned"): lambda threads: 55.0}
    own = ways.cases(rates, [ways.OWN])
    assert costs(synthetic.run([*own, *ways.cases(rates, [ways.SPAWN], counts=[2, 4])])) == []
