"""Pipelines predicted from copies that were measured alone, and how far off that is for one kind of memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np

from isthmus.analysis.overlap.model import Overlap, PipelinePoint, overlaps
from isthmus.analysis.overlap.pipeline import PipelineModel, pipeline_model
from isthmus.record import Interval, Run


@dataclass(frozen=True)
class PredictedPipeline:
    """A pipeline with what the bandwidth experiment's copies and the work alone predict that it takes, in seconds."""

    overlap: Overlap
    point: PipelinePoint
    predicted: Interval


def checked_pipeline_model(run: Run, host_memory: str) -> PipelineModel | None:
    """The model of one kind of memory with its error, where the run measured pipelines through that kind.

    None where the run did not measure copies of it in both directions.
    """
    model = pipeline_model(run, host_memory)
    if model is None:
        return None
    return with_error(model, [overlap for overlap in overlaps(run) if overlap.host_memory == host_memory])


def with_error(model: PipelineModel, measured: Sequence[Overlap]) -> PipelineModel:
    """The model with the root mean square of the logarithms by which it misses these pipelines; 0 without any."""
    misses = [
        log(each.predicted.median / each.point.seconds.median)
        for overlap in measured
        for each in predicted_pipelines(model, overlap)
    ]
    return replace(model, error=float(np.sqrt(np.mean(np.square(misses)))) if misses else 0.0)


def predicted_pipelines(model: PipelineModel, overlap: Overlap) -> list[PredictedPipeline]:
    """Every pipeline of several chunks whose work was also measured alone."""
    work = overlap.alone.get("work")
    if work is None:
        return []
    return [
        PredictedPipeline(overlap, point, model.at(overlap.bytes, work.median, point.chunks, point.streams).seconds)
        for point in overlap.points.values()
        if point.chunks > 1
    ]
