"""Curves of rate against threads: which cases make them, which do not, and to which curve one thread belongs."""

import msgspec
import numpy as np
import pytest

from isthmus.analysis.threads.model import reference_bytes, thread_curves
from isthmus.record import GIB, MIB
from tests.synthetic import runs as synthetic
from tests.synthetic import threads as synthetic_threads


def flat(rate: float = 50.0) -> dict[tuple[str, str], object]:
    return {("h2d", "pinned"): lambda threads: rate}


def test_a_curve_for_each_way_to_divide_the_transfer() -> None:
    ways = synthetic_threads
    cases = ways.cases(flat(), (ways.SHARED, ways.OWN, ways.CHUNKS, ways.OWN_CHUNKS, ways.SPAWN))
    curves = thread_curves(synthetic.run(cases))
    assert [(curve.method, curve.slicing, curve.streams) for curve in curves] == [
        ("workers", "slices", "shared"),
        ("workers", "slices", "own"),
        ("workers", "chunks", "shared"),
        ("workers", "chunks", "own"),
        ("spawn", "slices", "shared"),
    ]
    assert all(tuple(curve.points) == ways.COUNTS for curve in curves)


def test_one_thread_has_one_stream_either_way() -> None:
    ways = synthetic_threads
    shared, own = thread_curves(synthetic.run(ways.cases(flat(), (ways.SHARED, ways.OWN))))
    assert shared.points[1] == own.points[1]
    (only_own,) = thread_curves(synthetic.run(ways.cases(flat(), counts=[1]) + ways.cases(flat(), [ways.OWN])))
    assert (only_own.streams, tuple(only_own.points)) == ("own", ways.COUNTS)
    (single,) = thread_curves(synthetic.run(ways.cases(flat(), counts=[1])))
    assert (single.streams, tuple(single.points)) == ("shared", (1,))


def test_rates_of_both_ways_are_sums() -> None:
    cases = synthetic_threads.cases({("both", "pinned"): lambda threads: 99.0}, noise=1e-6)
    (curve,) = thread_curves(synthetic.run(cases))
    assert curve.points[4].rate.median == pytest.approx(99e9, rel=1e-3)


def test_curves_come_by_kind_direction_and_size_whatever_the_order_of_the_cases() -> None:
    rates = {(way, kind): lambda threads: 9.0 for kind in ("pinned", "pageable") for way in ("both", "d2h", "h2d")}
    cases = synthetic_threads.cases(rates, sizes=(GIB, 64 * MIB))
    mixed = [cases[index] for index in np.random.default_rng(1).permutation(len(cases))]
    subjects = [curve.subject for curve in thread_curves(synthetic.run(mixed))]
    kinds, ways, sizes = ("pageable", "pinned"), ("h2d", "d2h", "both"), (64 * MIB, GIB)
    assert subjects == [(kind, way, size) for kind in kinds for way in ways for size in sizes]


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


def test_wrong_data_is_kept_apart() -> None:
    cases = synthetic_threads.cases(flat())
    cases[2] = msgspec.structs.replace(cases[2], verified="no")
    (curve,) = thread_curves(synthetic.run(cases))
    assert [count for count, each in curve.figures.items() if each.is_wrong] == [4]
    assert tuple(curve.points) == (1, 2, 8, 16, 32)


def test_the_size_to_conclude_about_is_that_of_the_seed_else_the_largest() -> None:
    def told(*sizes: int) -> int | None:
        return reference_bytes(thread_curves(synthetic.run(synthetic_threads.cases(flat(), sizes=sizes))))

    assert told(MIB, 64 * MIB, GIB) == 64 * MIB
    assert told(MIB, GIB) == GIB
    assert reference_bytes([]) is None
