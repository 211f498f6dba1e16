"""Ways to move an array: points of both patterns, and thresholds against copies of the whole."""

import pytest

from isthmus.analysis.managed.model import ON_DEMAND, WHOLE_COPIES, Movement, Pattern, movements, overtaking
from isthmus.record import KIB, MIB, Run
from tests.synthetic import managed as synthetic_managed
from tests.synthetic import runs as synthetic

WITHIN = 0.02
PAGEABLE, PINNED = WHOLE_COPIES


@pytest.fixture(scope="module")
def full() -> Run:
    return synthetic.run(synthetic_managed.cases())


def patterns(run: Run) -> tuple[Movement, Movement]:
    percents, strides = movements(run)
    assert (percents.pattern, strides.pattern) == ("percent", "stride")
    return percents, strides


def test_points_hold_both_phases(full: Run) -> None:
    percents, strides = patterns(full)
    assert percents.places == [1, 10, 25, 50, 100]
    assert strides.places == [4 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB]
    point = percents.curves[ON_DEMAND][50]
    assert point.phases["in_seconds"].median == pytest.approx(0.0675, rel=0.01)
    assert point.phases["out_seconds"].median == pytest.approx(0.3, rel=0.01)
    assert point.seconds.median == pytest.approx(0.3675, rel=0.01)


def test_a_whole_copy_that_was_measured_once_counts_for_both_patterns(full: Run) -> None:
    """At the stride that touches most, or where all is touched: nothing that it is compared with is far from there."""
    places: dict[Pattern, int] = {"stride": 4 * KIB, "percent": 100}
    for pattern, place in places.items():
        kept = [
            case
            for case in full.cases
            if case.method != "explicit_whole" or (case.stride_bytes is None) != (pattern == "stride")
        ]
        found = {each.pattern: each for each in movements(synthetic.run(kept))}
        assert list(found[pattern].curves[PAGEABLE]) == [place]
        assert found[pattern].places == next(each for each in movements(full) if each.pattern == pattern).places
        assert list(found[pattern].figures)[:2] == [PAGEABLE, PINNED]
        answer = overtaking(found[pattern], ON_DEMAND, PAGEABLE, WITHIN)
        assert answer is not None
        assert answer.threshold.certain


def test_the_share_is_found_up_to_which_on_demand_wins(full: Run) -> None:
    """0.101 + 0.533 f falls below 0.305 up to 38 %, and below 0.14 up to 7.3 %."""
    percents, _ = patterns(full)
    for incumbent, crossing in ((PAGEABLE, 38.3), (PINNED, 7.3)):
        found = overtaking(percents, ON_DEMAND, incumbent, WITHIN)
        assert found
        assert found.threshold.state == "up_to"
        assert found.threshold.certain
        assert found.threshold.value == pytest.approx(crossing, abs=1)
        assert found.threshold.low - 1 <= crossing <= found.threshold.high + 1


def test_the_stride_is_found_from_which_on_demand_wins(full: Run) -> None:
    _, strides = patterns(full)
    found = overtaking(strides, ON_DEMAND, PAGEABLE, WITHIN)
    assert found
    assert found.threshold.state == "from"
    assert found.threshold.value == pytest.approx(256 * KIB / 0.383, rel=0.25)
