"""Curves of rate against threads, what created threads cost, and whether waiting spins."""

from collections.abc import Sequence

import msgspec
import pytest

from isthmus.analysis.threads.findings import SpawnCost, findings, spawn_costs
from isthmus.analysis.threads.model import reference_bytes, thread_curves
from isthmus.record import GIB, MIB, Case, Run
from tests.synthetic import runs as synthetic
from tests.synthetic import threads as synthetic_threads


def flat(rate: float = 50.0) -> dict[tuple[str, str], object]:
    return {("h2d", "pinned"): lambda threads: rate}


def test_rates_of_both_ways_are_sums() -> None:
    cases = synthetic_threads.cases({("both", "pinned"): lambda threads: 99.0}, noise=1e-6)
    (curve,) = thread_curves(synthetic.run(cases))
    assert curve.points[4].rate.median == pytest.approx(99e9, rel=1e-3)


def test_what_is_no_plain_transfer_of_one_device_makes_no_curve() -> None:
    placed = synthetic_threads.placed
    others = [
        placed(50, devices=1, target="cuda:0"),
        placed(50, devices=2),
        placed(50, node=1),
        placed(300, method="peer_copy", direction="peer", target="cuda:0", peer="cuda:1"),
        *synthetic_threads.skips("no memory left"),
        *synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)}, [MIB]),
    ]
    assert thread_curves(synthetic.run(others)) == []


def test_the_size_to_conclude_about_is_that_of_the_seed_else_the_largest() -> None:
    def told(*sizes: int) -> int | None:
        return reference_bytes(thread_curves(synthetic.run(synthetic_threads.cases(flat(), sizes=sizes))))

    assert told(MIB, 64 * MIB, GIB) == 64 * MIB
    assert told(MIB, GIB) == GIB
    assert reference_bytes([]) is None


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
