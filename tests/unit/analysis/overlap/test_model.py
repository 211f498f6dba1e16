"""Pipelines against their bound and their serial time, on runs whose truth is known."""

import numpy as np
import pytest

from isthmus.analysis.overlap.findings import exchanges
from isthmus.analysis.overlap.model import overlaps, pipeline_bound
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
