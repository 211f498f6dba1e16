"""How well measured pipelines are predicted from copies that were measured alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np

from isthmus.analysis.overlap.model import Overlap, PipelinePoint, overlaps
from isthmus.analysis.overlap.pipeline import PipelineModel, pipeline_model
from isthmus.analysis.prediction.check import PredictionErrors, errors_of
from isthmus.analysis.statistics.once import once
from isthmus.record import Interval, Run

__all__ = ["PipelineCheck", "checked_pipeline_model", "pipeline_checks", "pipeline_errors"]


@dataclass(frozen=True)
class PipelineCheck:
    """A pipeline with what the bandwidth experiment's copies and the work alone predict that it takes, in seconds."""

    overlap: Overlap
    point: PipelinePoint
    predicted: Interval


@once()
def pipeline_checks(run: Run) -> Sequence[PipelineCheck]:
    """Every pipeline of several chunks whose copies and work were also measured alone.

    No pipeline is part of the model; its interval rests on the misses of pipelines of other sizes and other work.
    """
    by_memory: dict[str, list[Overlap]] = {}
    for overlap in overlaps(run):
        by_memory.setdefault(overlap.host_memory, []).append(overlap)
    found = []
    for memory, measured in by_memory.items():
        model = pipeline_model(run, memory)
        if model is None:
            continue
        misses = [_misses(model, overlap) for overlap in measured]
        for index, overlap in enumerate(measured):
            others = [miss for each in misses[:index] + misses[index + 1 :] for miss in each]
            found += _predicted(replace(model, error=_error(others)), overlap)
    return found


def checked_pipeline_model(run: Run, host_memory: str) -> PipelineModel | None:
    """The model of one kind of memory with its error, where the run measured pipelines through that kind.

    None where the run did not measure copies of it in both directions.
    """
    model = pipeline_model(run, host_memory)
    if model is None:
        return None
    measured = [overlap for overlap in overlaps(run) if overlap.host_memory == host_memory]
    return replace(model, error=_error([miss for overlap in measured for miss in _misses(model, overlap)]))


def pipeline_errors(checks: Iterable[PipelineCheck]) -> PredictionErrors | None:
    """The errors of several pipelines together; None for none."""
    return errors_of([(check.point.seconds, check.predicted) for check in checks])


def _predicted(model: PipelineModel, overlap: Overlap) -> list[PipelineCheck]:
    work = overlap.alone.get("work")
    if work is None:
        return []
    return [
        PipelineCheck(overlap, point, model.at(overlap.bytes, work.median, point.chunks, point.streams).seconds)
        for point in overlap.points.values()
        if point.chunks > 1
    ]


def _misses(model: PipelineModel, overlap: Overlap) -> list[float]:
    """Logarithms of predicted over measured."""
    return [log(check.predicted.median / check.point.seconds.median) for check in _predicted(model, overlap)]


def _error(misses: Sequence[float]) -> float:
    """Root of the mean square; 0 without any."""
    return float(np.sqrt(np.mean(np.square(misses)))) if misses else 0.0
