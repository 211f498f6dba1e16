"""Parts of managed arrays are planned near the truth that drew a run, between and beyond the measured parts."""

from collections.abc import Mapping

import pytest

from isthmus.errors import UsageError
from isthmus.plan import answer
from isthmus.plan.managed import at_share
from isthmus.record import GIB, KIB, MIB, Interval, ManagedNeed, Run
from tests.synthetic import managed as synthetic_managed
from tests.synthetic import runs as synthetic


@pytest.fixture(scope="module")
def h200() -> Run:
    return synthetic.run(synthetic_managed.cases())


def named(truths: Mapping[tuple[str, str], object]) -> dict[str, tuple[str, str]]:
    """The names of a plan's ways."""
    return {f"{key[0]}_{key[1]}" if key[0].startswith("explicit") else key[0]: key for key in truths}


@pytest.mark.parametrize("share", [0.05, 0.3, 0.75, 1.0])
@pytest.mark.parametrize("size", [GIB, 300 * MIB])
def test_times_between_shares_and_of_other_sizes_are_near_the_truth(h200: Run, share: float, size: int) -> None:
    keys = named(synthetic_managed.H200)
    plan = answer(h200, ManagedNeed(size, fraction=share))
    assert {way.name for way in plan.methods} == set(keys)
    for way in plan.methods:
        truth = sum(synthetic_managed.H200[keys[way.name]](share)) * size / GIB
        assert way.seconds.median == pytest.approx(truth, rel=0.05), way.name
        assert sum(step.count * step.seconds.median for step in way.steps) == pytest.approx(way.seconds.median)


@pytest.mark.parametrize("stride", [4 * KIB, 32 * KIB, 200 * KIB, 2 * MIB])
def test_strides_are_near_the_truth_on_either_side_of_what_a_fault_moves(h200: Run, stride: int) -> None:
    into, out = synthetic_managed.H200["managed", "managed"](min(synthetic_managed.UNIT / stride, 1.0))
    (way,) = (way for way in answer(h200, ManagedNeed(GIB, stride_bytes=stride)).methods if way.name == "managed")
    assert way.seconds.low <= into + out <= way.seconds.high


def test_between_two_shares_the_interval_holds_both() -> None:
    measured = {1.0: Interval(1.0, 0.9, 1.1), 3.0: Interval(2.0, 1.9, 2.1)}
    assert at_share(measured, 2.0) == Interval(1.5, 0.9, 2.1)
    assert at_share(measured, 3.0) == measured[3.0]


@pytest.mark.parametrize(
    "need",
    [
        ManagedNeed(GIB),
        ManagedNeed(GIB, 0.5, 4096),
        ManagedNeed(GIB, 0.0),
        ManagedNeed(GIB, 1.5),
        ManagedNeed(GIB, stride_bytes=4),
        ManagedNeed(4096, stride_bytes=8192),
    ],
)
def test_parts_that_cannot_be_are_errors(h200: Run, need: ManagedNeed) -> None:
    with pytest.raises(UsageError):
        answer(h200, need)
