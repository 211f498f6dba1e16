"""The first published figures beside ours: shares count megabytes as their program does; other sizes are left alone."""

from types import ModuleType

import pytest

from isthmus.analysis.conclusions import findings
from isthmus.analysis.threads.published import PUBLISHED_RATES, published_share
from isthmus.record import GIB


def test_their_megabytes_are_binary() -> None:
    """64 MiB in one second over 0.953674 of it: bytes per microsecond times 10**6 / 2**20."""
    assert PUBLISHED_RATES["h2d"][1] == pytest.approx(145.079269 / 0.953674 * 1e6, rel=1e-6)
    assert published_share("h2d", 4) == pytest.approx(0.683, abs=0.001)
    assert published_share("both", 1) == pytest.approx(0.380, abs=0.001)


def test_their_gains_stand_beside_ours_with_the_reason(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    run = synthetic.run(synthetic_threads.h200_cases())
    (finding,) = [finding for finding in findings(run) if finding.topic == "threads_published"]
    assert "a factor of 1.12 H2D, 1.07 D2H and 1.07 both ways in sum" in finding.sentence
    assert "here they gain nothing with pageable memory and pinned memory" in finding.sentence
    assert "55 % of what each way moved alone, added up; here that is 7" in finding.sentence
    assert finding.cause == (
        "There one thread left 39 % H2D and 22 % D2H of the link unused; here one thread already reaches 87 % and 88 % "
        "of it with pinned memory, about what a link carries in practice."
    )


def test_a_link_that_one_thread_does_not_fill_is_no_reason(
    synthetic: ModuleType, synthetic_threads: ModuleType
) -> None:
    cases = synthetic_threads.cases({("h2d", "pinned"): lambda threads: 45.0})
    (finding,) = [each for each in findings(synthetic.run(cases)) if each.topic == "threads_published"]
    assert finding.cause == ""


def test_a_gain_of_ours_is_a_factor_and_needs_no_excuse(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    cases = synthetic_threads.cases({("h2d", "pinned"): lambda threads: min(20.0 * threads, 40.0)})
    (finding,) = [each for each in findings(synthetic.run(cases)) if each.topic == "threads_published"]
    assert "here they gain a factor of 2.0 H2D with pinned memory" in finding.sentence
    assert finding.cause == ""


def test_another_size_is_not_compared(synthetic: ModuleType, synthetic_threads: ModuleType) -> None:
    cases = synthetic_threads.cases({("h2d", "pinned"): lambda threads: 55.0}, sizes=[GIB])
    assert not [each for each in findings(synthetic.run(cases)) if each.topic == "threads_published"]
