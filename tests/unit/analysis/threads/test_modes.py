"""Ways to divide a transfer: what differs is found, what does not is not, and both ways is held against each alone."""

from types import ModuleType

import pytest

from isthmus.analysis.threads.model import ThreadCurve, thread_curves
from isthmus.analysis.threads.modes import chunks_against_slices, own_against_shared, threads_both_ways
from isthmus.record import GIB, MIB


def curves(synthetic: ModuleType, cases: object) -> list[ThreadCurve]:
    return thread_curves(synthetic.run(cases))


def test_own_streams_are_compared_from_two_threads_on(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    ways = synthetic_threads
    cases = ways.cases({("h2d", "pinned"): lambda threads: 40.0}) + ways.cases(
        {("h2d", "pinned"): lambda threads: 50.0}, [ways.OWN]
    )
    ((curve, gap),) = own_against_shared(curves(synthetic, cases))
    assert curve.streams == "own"
    assert gap.sizes == (2, 4, 8, 16, 32)
    assert gap.ratio == pytest.approx(1.25, rel=0.01)
    assert gap.matters


def test_chunks_are_compared_for_each_use_of_streams(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    ways = synthetic_threads
    everything = (ways.SHARED, ways.OWN, ways.CHUNKS, ways.OWN_CHUNKS)
    cases = ways.cases({("d2h", "pinned"): lambda threads: 40.0}, everything, (64 * MIB, GIB))
    found = chunks_against_slices(curves(synthetic, cases))
    assert [(curve.streams, curve.bytes) for curve, _ in found] == [
        ("shared", 64 * MIB),
        ("own", 64 * MIB),
        ("shared", GIB),
        ("own", GIB),
    ]
    assert not any(gap.matters for _, gap in found)


def test_created_threads_are_not_mixed_with_persistent_ones(
    synthetic: ModuleType, synthetic_threads: ModuleType
) -> None:
    ways = synthetic_threads
    cases = ways.cases({("d2h", "pinned"): lambda threads: 40.0}, (ways.SPAWN, ways.OWN))
    assert own_against_shared(curves(synthetic, cases)) == []


@pytest.mark.parametrize(("total", "share"), [(100.0, 100 / 105), (52.5, 0.5)])
def test_both_ways_against_each_alone_with_as_many_threads(
    synthetic: ModuleType, synthetic_threads: ModuleType, total: float, share: float
) -> None:
    rates = {
        ("h2d", "pinned"): lambda threads: 50.0,
        ("d2h", "pinned"): lambda threads: 55.0,
        ("both", "pinned"): lambda threads: total,
    }
    found = threads_both_ways(curves(synthetic, synthetic_threads.cases(rates)))
    assert [each.threads for each in found] == list(synthetic_threads.COUNTS)
    assert all(each.share.low < share < each.share.high for each in found)
    assert found[0].alone.median == pytest.approx(105e9, rel=0.01)


def test_both_ways_without_one_of_them_alone_is_no_comparison(
    synthetic: ModuleType, synthetic_threads: ModuleType
) -> None:
    rates = {("h2d", "pinned"): lambda threads: 50.0, ("both", "pinned"): lambda threads: 90.0}
    assert threads_both_ways(curves(synthetic, synthetic_threads.cases(rates))) == []
