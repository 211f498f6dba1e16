"""Curves of rate against threads: which cases make none, and what is concluded from."""

import pytest

from isthmus.analysis.threads.model import reference_bytes, thread_curves
from isthmus.record import GIB, MIB
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
