"""Cases become curves: rates with intervals, failed points apart, nothing invented."""

import msgspec
import pytest

from isthmus.analysis.statistics.curve import bandwidth_curves, find
from isthmus.record import KIB, MIB, Case, Series
from tests.synthetic import runs as synthetic

PINNED = ("copy", "h2d", "pinned")


def one_case(samples: list[float], **changes: object) -> Case:
    fields = {"method": "copy", "direction": "h2d", "host_memory": "pinned", "bytes": 1000} | changes
    series = [Series(metric=str(fields.pop("metric", "host_seconds")), samples=samples)]  # type: ignore[arg-type]
    return Case(experiment="bandwidth", series=series, **fields)  # type: ignore[arg-type]


def test_ends_of_the_interval_swap_between_time_and_rate() -> None:
    (curve,) = bandwidth_curves(synthetic.run([one_case([1.0, 2.0, 4.0])]))
    rate = curve.points[0].rate
    assert (rate.low, rate.median, rate.high) == (250.0, 500.0, 1000.0)


def test_both_ways_counts_the_bytes_of_both() -> None:
    (curve,) = bandwidth_curves(synthetic.run([one_case([2.0], direction="both")]))
    assert curve.points[0].rate.median == 1000.0
    assert curve.points[0].bytes == 1000


def test_points_are_in_order_of_size_whatever_the_order_of_measuring() -> None:
    cases = synthetic.cases({PINNED: synthetic.Truth(1e-6, 1e10)}, [4 * KIB, 1, MIB])
    (curve,) = bandwidth_curves(synthetic.run(cases))
    assert [point.bytes for point in curve.points] == [1, 4 * KIB, MIB]


def test_failed_points_are_kept_out_of_the_curve() -> None:
    good, bad = one_case([1.0], verified="yes"), one_case([0.001], bytes=2000, verified="no")
    (curve,) = bandwidth_curves(synthetic.run([good, bad]))
    assert [point.bytes for point in curve.points] == [1000]
    assert [point.bytes for point in curve.failed] == [2000]
    assert curve.at(2000) is None


def test_a_curve_of_failures_only_is_not_found() -> None:
    curves = bandwidth_curves(synthetic.run([one_case([1.0], verified="no")]))
    assert len(curves) == 1
    assert find(curves, "h2d", "pinned") is None


@pytest.mark.parametrize("samples", [[], [0.0, 1.0], [-1.0, 2.0]])
def test_what_is_no_time_makes_no_point(samples: list[float]) -> None:
    assert bandwidth_curves(synthetic.run([one_case(samples)])) == []


def test_skipped_cases_and_other_experiments_make_no_curve() -> None:
    other = msgspec.structs.replace(one_case([1.0]), experiment="allocation")
    skipped = synthetic.skips(PINNED, [1, 2], "no memory")
    assert bandwidth_curves(synthetic.run([other, *skipped])) == []


def test_duplex_is_told_apart_from_the_copy_of_the_same_memory() -> None:
    duplex = one_case([4.0], method="duplex", metric="device_seconds")
    curves = bandwidth_curves(synthetic.run([duplex, one_case([1.0])]))
    alone, together = find(curves, "h2d", "pinned"), find(curves, "h2d", "pinned", duplex=True)
    assert alone
    assert together
    assert (alone.points[0].rate.median, together.points[0].rate.median) == (1000.0, 250.0)


def test_alignment_parts_curves_only_where_it_varies() -> None:
    cases = [one_case([1.0], alignment_bytes=64), one_case([2.0], alignment_bytes=4096)]
    assert [curve.alignment_bytes for curve in bandwidth_curves(synthetic.run(cases))] == [64, 4096]
    assert [curve.alignment_bytes for curve in bandwidth_curves(synthetic.run(cases[:1]))] == [None]


def test_convergence_is_judged_by_the_aim_of_the_run() -> None:
    run = synthetic.run([one_case([0.95, 1.0, 1.05])])
    assert not bandwidth_curves(run)[0].points[0].converged
    lenient = msgspec.structs.replace(run.settings, target_relative_half_width=0.06)
    assert bandwidth_curves(msgspec.structs.replace(run, settings=lenient))[0].points[0].converged
