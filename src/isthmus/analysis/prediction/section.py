"""The section on predictions: how far predictions are off, and both ways at once."""

from collections.abc import Sequence

from isthmus.analysis.prediction.chart import chart_part
from isthmus.analysis.prediction.check import PREDICTED_FROM, CurveCheck, prediction_checks, prediction_errors
from isthmus.analysis.prediction.errors import errors_grid
from isthmus.analysis.prediction.pipeline_check import pipeline_checks
from isthmus.analysis.prediction.two_ways import two_ways_grid
from isthmus.document.section import Part, Section
from isthmus.language import say
from isthmus.record import Run, format_bytes

__all__ = ["section"]


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs' bandwidth cases predict; None where none has sizes enough to check a prediction."""
    checks = [prediction_checks(run) for run in runs]
    if not any(map(_tells, checks)):
        return None
    errors = tuple(
        errors_grid(runs, index, each, pipeline_checks(runs[index]))
        for index, each in enumerate(checks)
        if _tells(each)
    )
    slowed = tuple(grid for index in range(len(runs)) if (grid := two_ways_grid(runs, index)))
    parts = [
        Part(say("prediction_report.errors_part"), say("prediction_report.errors_note"), grids=errors),
        chart_part(runs, checks),
    ]
    if slowed:
        parts.append(Part(say("prediction_report.two_ways_part"), say("prediction_report.two_ways_note"), grids=slowed))
    caveats = [say("prediction_report.caveat_moment"), say("prediction_report.caveat_beyond")]
    if slowed:
        caveats.append(say("prediction_report.caveat_two_ways"))
    return Section(
        "prediction",
        say("prediction_report.title"),
        say("prediction_report.intro", size=format_bytes(PREDICTED_FROM)),
        tuple(parts),
        question=say("prediction_report.question"),
        caveats=tuple(caveats),
    )


def _tells(checks: Sequence[CurveCheck]) -> bool:
    errors = prediction_errors(checks)
    return errors is not None and errors.sufficient
