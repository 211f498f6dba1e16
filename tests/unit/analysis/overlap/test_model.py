"""Pipelines against their bound and their serial time, on runs whose truth is known."""

import msgspec
import numpy as np
import pytest

from isthmus.analysis.overlap.findings import exchanges
from isthmus.analysis.overlap.model import main_overlaps, overlaps, pipeline_bound, traced
from isthmus.record import MIB, Span
from tests.synthetic import overlap as synthetic_overlap
from tests.synthetic import runs as synthetic


def simulated(stages: list[float], chunks: int) -> float:
    """When the last of equal chunks leaves the last stage, step by step: an independent way to the bound."""
    free = [0.0] * len(stages)
    for _ in range(chunks):
        ready = 0.0
        for place, whole in enumerate(stages):
            free[place] = ready = max(ready, free[place]) + whole / chunks
    return free[-1]


@pytest.mark.parametrize("chunks", [1, 2, 7, 64])
@pytest.mark.parametrize("stages", [[1.0, 1.0, 1.0], [3.0, 0.5, 1.0], [0.1, 2.0, 0.3], [1.0, 2.0]])
def test_the_bound_is_what_an_ideal_pipeline_takes(stages: list[float], chunks: int) -> None:
    bound = pipeline_bound([np.array([stage]) for stage in stages], chunks)
    assert bound[0] == pytest.approx(simulated(stages, chunks))


def test_shares_and_speed_ups_are_the_true_ones() -> None:
    truth = synthetic_overlap.Truth(share=0.9)
    [found] = overlaps(synthetic.run(synthetic_overlap.cases("pinned", truth)))
    for (chunks, streams), point in found.points.items():
        assert point.share is not None
        assert point.speedup is not None
        share = truth.bound(chunks) / truth.seconds(chunks, streams)
        assert point.share.low <= share <= point.share.high
        speedup = truth.seconds(1, 1) / truth.seconds(chunks, streams)
        assert point.speedup.low <= speedup <= point.speedup.high
    assert found.gains == "yes"
    assert found.best
    assert found.best.chunks == 64


def test_the_bound_takes_the_fastest_way_of_a_stage() -> None:
    [found] = overlaps(synthetic.run(synthetic_overlap.cases("pinned", synthetic_overlap.Truth())))
    # The same copy in chunks takes half as long again there.
    assert found.alone["in"].median == pytest.approx(1.2e-3, rel=0.02)


def test_memory_that_does_not_overlap_gains_nothing() -> None:
    [found] = overlaps(synthetic.run(synthetic_overlap.cases("pageable", synthetic_overlap.PAGEABLE)))
    assert found.gains == "no"


def test_noise_hides_whether_it_gains() -> None:
    truth = synthetic_overlap.Truth(overlaps=False, noise=0.3)
    [found] = overlaps(synthetic.run(synthetic_overlap.cases("pinned", truth)))
    assert found.gains == "cannot tell"


def test_without_a_serial_time_nothing_is_said_of_gains() -> None:
    cases = synthetic_overlap.cases("pinned", synthetic_overlap.Truth(), chunks=(4, 16))
    [found] = overlaps(synthetic.run(cases))
    assert found.serial is None
    assert found.gains == "cannot tell"
    assert all(point.share and point.speedup is None for point in found.points.values())


def test_without_a_stage_alone_there_is_no_bound() -> None:
    cases = synthetic_overlap.cases("pinned", synthetic_overlap.Truth())
    [found] = overlaps(synthetic.run([case for case in cases if case.method != "work_alone"]))
    assert all(point.bound is None and point.share is None for point in found.points.values())
    assert found.gains == "yes"


def test_wrong_results_make_no_point() -> None:
    cases = synthetic_overlap.cases("pinned", synthetic_overlap.Truth())
    wrong = [
        msgspec.structs.replace(case, verified="no") if (case.pieces, case.streams) == (64, 8) else case
        for case in cases
    ]
    [found] = overlaps(synthetic.run(wrong))
    assert [place for place, each in found.figures.items() if each.is_wrong] == [(64, 8)]
    assert (64, 8) not in found.points


def test_skipped_pipelines_keep_their_reasons() -> None:
    cases = synthetic_overlap.cases("pinned", synthetic_overlap.Truth(), chunks=(1, 2))
    skipped = synthetic_overlap.skips("pinned", "no room", chunks=(64,))
    [found] = overlaps(synthetic.run([*cases, *skipped]))
    assert {place: each.case.note for place, each in found.figures.items() if each.case.skipped} == {(64, 1): "no room"}
    assert overlaps(synthetic.run(skipped)) == []


def test_conclusions_rest_on_the_largest_size_and_the_fullest_sweep() -> None:
    truth = synthetic_overlap.Truth()
    cases = [
        *synthetic_overlap.cases("pinned", truth),
        *synthetic_overlap.cases("pinned", truth, ratio=3.0, chunks=(1, 4, 16), streams=(4,)),
        *synthetic_overlap.cases("pinned", truth, size=4 * MIB),
    ]
    found = overlaps(synthetic.run(cases))
    assert [(each.bytes, each.ratio) for each in found] == [
        (4 * MIB, 1.0),
        (synthetic_overlap.SIZE, 1.0),
        (synthetic_overlap.SIZE, 3.0),
    ]
    [main] = main_overlaps(found)
    assert (main.bytes, main.ratio) == (synthetic_overlap.SIZE, 1.0)
    assert main_overlaps([]) == []


@pytest.mark.parametrize(
    ("seconds", "noise", "in_turn"),
    [
        (1.3e-3, 0.002, False),
        (2.0e-3, 0.002, False),
        (2.38e-3, 0.002, True),
        (3.0e-3, 0.002, True),
        (1.9e-3, 0.5, False),
    ],
)
def test_copies_both_ways_are_judged_by_what_they_save(seconds: float, noise: float, in_turn: bool) -> None:
    cases = synthetic_overlap.cases("pinned", synthetic_overlap.Truth(), chunks=(1,))
    [found] = exchanges(synthetic.run([*cases, synthetic_overlap.both_ways("pinned", seconds, noise=noise)]))
    assert found.in_turn is in_turn
    # 16 chunks: the first one's way in and the last one's way out are alone.
    assert found.bound.median == pytest.approx(1.2e-3 * 17 / 16, rel=0.02)


def test_an_exchange_needs_both_copies_alone_and_more_than_one_chunk() -> None:
    both = synthetic_overlap.both_ways("pinned", 1.3e-3)
    assert exchanges(synthetic.run([both])) == []
    cases = synthetic_overlap.cases("pinned", synthetic_overlap.Truth(), chunks=(1,))
    assert exchanges(synthetic.run([*cases, synthetic_overlap.both_ways("pinned", 2.4e-3, chunks=1)])) == []


def test_only_timelines_that_can_be_drawn_are_shown() -> None:
    good = synthetic_overlap.traced()
    backwards = [Span(stage="in", chunk=0, begin=2.0, end=1.0)]
    run = synthetic.run([good, msgspec.structs.replace(good, spans=backwards), msgspec.structs.replace(good, spans=[])])
    assert traced(run) == [good]
