"""What the check of predictions says: how far to rely on times that were not measured, and of which memory not."""

from collections.abc import Sequence

from isthmus.analysis.phrases import memory_name, moved_memory_name
from isthmus.analysis.prediction.check import CurveCheck, PredictionErrors, prediction_checks, prediction_errors
from isthmus.analysis.prediction.pipeline_check import PipelineCheck, pipeline_checks, pipeline_errors
from isthmus.analysis.statistics.shape import steadiness
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import enumerated, say, sentences
from isthmus.record import Run, kind_rank

__all__ = ["findings", "takeaway"]


def findings(run: Run) -> list[Finding]:
    """How far predictions of transfers and of pipelines are off; nothing of runs with too few sizes to tell."""
    checks = prediction_checks(run)
    errors = prediction_errors(checks)
    found = [_transfers(checks, errors)] if errors and errors.sufficient else []
    return [*found, *_pipelines(pipeline_checks(run))]


def takeaway(run: Run) -> Takeaway | None:
    """What to take away; None for a run with too few sizes to tell."""
    checks = prediction_checks(run)
    errors = prediction_errors(checks)
    if errors is None or not errors.sufficient:
        return None
    kinds = enumerated([moved_memory_name(kind) for kind in _missed(checks)])
    return Takeaway(
        say("prediction.verdict", median=100 * errors.median, high=100 * errors.high),
        say("prediction.verdict_advice", kinds=kinds) if kinds else "",
    )


def _transfers(checks: Sequence[CurveCheck], errors: PredictionErrors) -> Finding:
    missed = _missed(checks)
    text = say(
        "prediction.held" if errors.good else "prediction.missed",
        median=100 * errors.median,
        high=100 * errors.high,
        count=errors.count,
        enclosed=100 * errors.enclosed,
    )
    kinds = [say("prediction.kind", name=moved_memory_name(kind), high=100 * high) for kind, high in missed.items()]
    if kinds:
        text = sentences([text, say("prediction.kinds", kinds=enumerated(kinds))])
    erratic = any(
        steady.erratic for check in checks if check.curve.host_memory in missed and (steady := steadiness(check.curve))
    )
    return Finding(
        "info" if errors.good else "warning",
        "prediction",
        text,
        cause=say("prediction.cause") if erratic else "",
        fix=say("prediction.fix") if kinds or not errors.good else "",
    )


def _missed(checks: Sequence[CurveCheck]) -> dict[str, float]:
    """The 95th percentile of the errors of each kind of memory of which it is larger than it should be."""
    found = {}
    for kind in sorted({check.curve.host_memory for check in checks}, key=kind_rank):
        errors = prediction_errors([check for check in checks if check.curve.host_memory == kind])
        if errors and errors.sufficient and not errors.good:
            found[kind] = errors.high
    return found


def _pipelines(checks: Sequence[PipelineCheck]) -> list[Finding]:
    """One finding with a sentence for each kind of memory."""
    said = []
    for kind in sorted({check.overlap.host_memory for check in checks}, key=kind_rank):
        errors = pipeline_errors([check for check in checks if check.overlap.host_memory == kind])
        if errors:
            median, high = 100 * errors.median, 100 * errors.high
            said.append(
                say("prediction.pipelines", name=memory_name(kind), count=errors.count, median=median, high=high)
            )
    return [Finding("info", "prediction_pipelines", sentences(said))] if said else []
