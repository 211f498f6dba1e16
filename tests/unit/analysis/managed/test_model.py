"""Ways to move an array: points of both patterns, thresholds against copies of the whole, the paper's figures."""

import msgspec
import pytest

from isthmus.analysis.managed.model import (
    ON_DEMAND,
    WHOLE_COPIES,
    ManagedWay,
    Movement,
    movements,
    overtaking,
    overtakings,
    why_no_migration,
)
from isthmus.analysis.managed.words import managed_answer, way_label
from isthmus.record import GIB, KIB, MIB, Run
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


def test_a_copy_of_the_whole_array_stands_for_every_part_touched(full: Run) -> None:
    percents, _ = patterns(full)
    assert percents.at(PAGEABLE, 1) is percents.at(PAGEABLE, 100) is percents.curves[PAGEABLE][100]
    assert percents.at(ON_DEMAND, 30) is None
    assert percents.at(ManagedWay("system", "pageable"), 100) is None


def test_wrong_skipped_and_foreign_cases_make_no_point() -> None:
    key = ("managed", "managed")
    whole = synthetic_managed.case(key, 0.1, 0.2, fraction=1.0)
    cases = [
        whole,
        synthetic_managed.case(key, 0.1, 0.2, fraction=0.5, verified="no"),
        *synthetic_managed.skips(key, "no room", percents=[10]),
        msgspec.structs.replace(whole, fraction=None),
        msgspec.structs.replace(whole, method="new_way"),
        msgspec.structs.replace(whole, fraction=0.25, series=whole.series[:1]),
    ]
    [percents] = movements(synthetic.run(cases))
    assert list(percents.curves) == [ON_DEMAND]
    assert list(percents.curves[ON_DEMAND]) == [100]
    unmeasured = {place: each.case.note for place, each in percents.figures[ON_DEMAND].items() if not each.point}
    assert unmeasured.keys() == {10, 50}
    assert unmeasured[10] == "no room"
    assert percents.figures[ON_DEMAND][50].is_wrong


def test_skips_alone_are_nothing() -> None:
    assert not movements(synthetic.run(synthetic_managed.skips(("managed", "managed"), "none")))


def test_the_largest_array_comes_first() -> None:
    cases = [*synthetic_managed.cases(size=64 * MIB), *synthetic_managed.cases(size=GIB)]
    found = movements(synthetic.run(cases))
    assert [(each.bytes, each.pattern) for each in found] == [
        (GIB, "percent"),
        (GIB, "stride"),
        (64 * MIB, "percent"),
        (64 * MIB, "stride"),
    ]


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


def test_every_way_but_the_incumbents_is_compared(full: Run) -> None:
    percents, _ = patterns(full)
    found = overtakings(percents, WITHIN)
    assert {each.incumbent for each in found} == set(WHOLE_COPIES)
    assert {each.method.method for each in found} == {
        "explicit_touched",
        "managed",
        "prefetch_whole",
        "prefetch_touched",
        "read_mostly",
        "mapped",
    }
    [mapped] = [each for each in found if each.method.method == "mapped" and each.incumbent == PAGEABLE]
    assert mapped.threshold.state == "always"


def test_one_point_or_no_incumbent_tells_no_threshold() -> None:
    truths = synthetic_managed.H200
    only = {("managed", "managed"): truths["managed", "managed"]}
    [alone] = movements(synthetic.run(synthetic_managed.cases(only, strides=[])))
    assert overtaking(alone, ON_DEMAND, PAGEABLE, WITHIN) is None
    [single] = movements(synthetic.run(synthetic_managed.cases(percents=[100], strides=[])))
    assert overtaking(single, ON_DEMAND, PAGEABLE, WITHIN) is None


@pytest.mark.parametrize(("factor", "state", "words"), [(0.1, "always", "always"), (20.0, "never", "never")])
def test_out_of_range_is_an_answer(factor: float, state: str, words: str) -> None:
    truths = dict(synthetic_managed.H200)
    truths["managed", "managed"] = lambda share: (factor * 0.13 * (1 + share), factor * 0.1)
    percents, _ = patterns(synthetic.run(synthetic_managed.cases(truths)))
    found = overtaking(percents, ON_DEMAND, PAGEABLE, WITHIN)
    assert found
    assert (found.threshold.state, managed_answer("percent", found.threshold)) == (state, words)


def test_noise_leaves_the_answer_open() -> None:
    truths = dict(synthetic_managed.H200)
    truths["managed", "managed"] = truths["explicit_whole", "pageable"]
    percents, _ = patterns(synthetic.run(synthetic_managed.cases(truths, noise=0.3)))
    found = overtaking(percents, ON_DEMAND, PAGEABLE, WITHIN)
    assert found
    assert not found.threshold.certain


def test_answers_name_shares_and_strides(full: Run) -> None:
    percents, strides = patterns(full)
    share, stride = (overtaking(each, ON_DEMAND, PAGEABLE, WITHIN) for each in (percents, strides))
    assert share
    assert stride
    assert managed_answer("percent", share.threshold).startswith("≤ 3")
    assert managed_answer("percent", share.threshold).endswith(" %)")
    assert managed_answer("stride", stride.threshold).startswith("≥ ")


def test_why_pages_stay_is_read_from_the_run(full: Run) -> None:
    assert why_no_migration(full) == ""
    run = synthetic.run([*full.cases, synthetic_managed.stays("pages stay")])
    assert why_no_migration(run) == "pages stay"


@pytest.mark.parametrize(
    ("way", "label"),
    [
        (PAGEABLE, "copy all (pageable)"),
        (ON_DEMAND, "on demand"),
        (ManagedWay("explicit_touched", "pinned"), "copy touched (pinned)"),
    ],
)
def test_ways_have_names(way: ManagedWay, label: str) -> None:
    assert way_label(way) == label
