"""Two curves against each other: only intervals that do not overlap count."""

import pytest

from isthmus.analysis.statistics.contrast import contrast
from isthmus.analysis.statistics.curve import bandwidth_curves
from isthmus.record import KIB, MIB
from tests.synthetic import runs as synthetic

PINNED, OTHER = ("copy", "h2d", "pinned"), ("copy", "h2d", "pageable")


def test_certainly_faster_from_the_size_where_the_intervals_part() -> None:
    # Equal latency: apart only where the rate matters, all the way up.
    truths = {PINNED: synthetic.Truth(8e-6, 50e9, 0.01), OTHER: synthetic.Truth(8e-6, 10e9, 0.01)}
    pinned, other = bandwidth_curves(synthetic.run(synthetic.cases(truths, samples=30)))
    gap = contrast(pinned, other)
    assert gap
    assert gap.faster_from is not None
    assert KIB <= gap.faster_from <= 16 * KIB
    assert gap.slower_to is None
    low, high = gap.span(gap.faster_from)
    assert low < 1.2
    assert high == pytest.approx(5.0, rel=0.02)
    backwards = contrast(other, pinned)
    assert backwards
    assert backwards.faster_from is None


def test_crossing_curves() -> None:
    truths = {PINNED: synthetic.Truth(8e-6, 50e9), OTHER: synthetic.Truth(4e-6, 40e9)}
    pinned, other = bandwidth_curves(synthetic.run(synthetic.cases(truths)))
    gap = contrast(pinned, other)
    assert gap
    # Equal at 4 us * 1 / (1/40 - 1/50 GB/s) = 800 kB.
    assert gap.slower_to == 512 * KIB
    assert gap.faster_from == MIB


def test_curves_within_their_noise_are_not_told_apart() -> None:
    truths = {PINNED: synthetic.Truth(8e-6, 50e9, 0.05), OTHER: synthetic.Truth(8e-6, 50e9, 0.05)}
    pinned, other = bandwidth_curves(synthetic.run(synthetic.cases(truths)))
    gap = contrast(pinned, other)
    assert gap
    assert not gap.told_apart
    assert not gap.matters
    assert gap.alike


def test_a_certain_but_tiny_difference_does_not_matter() -> None:
    truths = {PINNED: synthetic.Truth(0.0, 50e9, 1e-5), OTHER: synthetic.Truth(0.0, 49e9, 1e-5)}
    pinned, other = bandwidth_curves(synthetic.run(synthetic.cases(truths)))
    gap = contrast(pinned, other)
    assert gap
    assert gap.told_apart
    assert not gap.matters


def test_no_common_size_is_no_contrast() -> None:
    truth = synthetic.Truth(1e-6, 1e9)
    cases = [*synthetic.cases({PINNED: truth}, [1, 2]), *synthetic.cases({OTHER: truth}, [4, 8])]
    pinned, other = bandwidth_curves(synthetic.run(cases))
    assert contrast(pinned, other) is None
    assert contrast(pinned, pinned, minimum_bytes=KIB) is None
