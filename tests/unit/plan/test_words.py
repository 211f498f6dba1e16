"""What a plan says of two ways: which is level with which, and from how many uses on the one pays."""

from __future__ import annotations

import numpy as np
import pytest

from isthmus.analysis.statistics.resample import DRAWS
from isthmus.language import LANGUAGES, speaking
from isthmus.plan import (
    BufferNeed,
    ManagedNeed,
    Need,
    Plan,
    Step,
    Way,
    answer_words,
    need_words,
    warning_words,
    way_words,
)
from isthmus.record import MIB, Interval


def sure(seconds: float) -> Interval:
    return Interval(seconds, seconds * 0.99, seconds * 1.01)


def way(name: str, once: float, each: float, uses: int) -> Way:
    steps = (Step("register", 1, sure(once)),) if once else ()
    total = once + uses * each
    return Way(name, sure(total), (*steps, Step("copy_h2d", uses, sure(each))))


def said(uses: int, *ways: Way) -> str:
    return answer_words(Plan(BufferNeed(MIB, "h2d", uses), tuple(sorted(ways, key=lambda each: each.seconds.median))))


def test_a_way_that_costs_more_once_pays_from_the_uses_at_which_it_is_the_faster() -> None:
    # 30 us once against 10 us less with each use: as fast at 3 uses, faster from 4 on.
    text = said(10, way("registered", 30e-6, 10e-6, 10), way("pageable", 0.0, 20e-6, 10))
    assert "costs 30.0 us more once, but each use takes 10.0 us in place of 20.0 us" in text
    assert "pays from 4 uses on" in text


def test_a_way_that_does_not_pay_yet_is_told_from_when_on() -> None:
    text = said(2, way("registered", 30e-6, 10e-6, 2), way("pageable", 0.0, 20e-6, 2))
    assert text.startswith("Fastest: copy the memory as it is.")
    assert "pays only from 4 uses on" in text


def test_equal_uses_leave_what_is_paid_once() -> None:
    text = said(2, way("registered", 30e-6, 20e-6, 2), way("pageable", 0.0, 20e-6, 2))
    assert "Each use takes as long with both, but this costs 30.0 us less once." in text


def test_what_is_paid_once_is_no_reason_where_it_is_next_to_nothing() -> None:
    text = said(100, way("registered", 40e-9, 10e-6, 100), way("pageable", 0.0, 20e-6, 100))
    assert "Each use takes 10.0 us in place of 20.0 us." in text
    assert "once" not in text


def test_ways_are_level_where_the_draws_of_their_ratio_say_so() -> None:
    random = np.random.default_rng(1)
    shared = random.lognormal(0.0, 0.3, 1 + DRAWS)
    shared[0] = 1.0
    wide = Interval(1.0, 0.5, 2.0)
    one = Way("registered", wide, draws=shared)
    # Always a tenth slower, though the intervals are almost the same.
    slower = Way("pageable", wide._replace(median=1.1), draws=1.1 * shared)
    own = random.lognormal(0.0, 0.3, 1 + DRAWS)
    own[0] = 1.0
    level = Way("pageable", wide._replace(median=1.1), draws=1.1 * own)
    assert "Next best: copy the memory as it is" in said(1, one, slower)
    assert "Level with it as far as the intervals tell" in said(1, one, level)


def test_what_a_run_lacks_is_said() -> None:
    beyond = Way("pageable", sure(1.0), beyond="above")
    warnings = warning_words(Plan(BufferNeed(MIB), (beyond,), {}, ("allocation", "breakeven")))
    assert warnings[0].startswith("This lies above what the run measured")
    assert warnings[1].startswith("The run lacks allocation and breakeven")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "need", [BufferNeed(MIB), BufferNeed(MIB, uses=7), ManagedNeed(MIB, 0.25), ManagedNeed(MIB, stride_bytes=4096)]
)
def test_needs_are_described_in_every_language(language: str, need: Need) -> None:
    with speaking(language):  # type: ignore[arg-type]
        text = need_words(need)
    assert "1 MiB" in text
    assert "{" not in text


def test_a_new_kind_of_memory_needs_no_words_of_its_own() -> None:
    assert way_words(BufferNeed(MIB, source="new"), "pinned_portable") == "a buffer in portable pinned memory"
    assert way_words(BufferNeed(MIB, source="pinned"), "by_light") == "by_light"
