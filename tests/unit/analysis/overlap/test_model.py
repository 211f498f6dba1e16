"""Pipelines against their bound and their serial time, on runs whose truth is known."""

import numpy as np
import pytest

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
