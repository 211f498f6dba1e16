"""Both directions at once are held against each alone."""

from types import ModuleType

import pytest

from isthmus.analysis.threads.both_ways import threads_both_ways
from isthmus.analysis.threads.model import ThreadCurve, thread_curves


def curves(synthetic: ModuleType, cases: object) -> list[ThreadCurve]:
    return thread_curves(synthetic.run(cases))


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
