"""All conclusions about a run, the gravest first, and its verdict: a sentence or two for each experiment."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isthmus.model.allocation_conclusions import allocation_findings, allocation_verdict
from isthmus.model.bandwidth import bandwidth_findings, bandwidth_verdict
from isthmus.model.batching_findings import batching_findings, batching_verdict
from isthmus.model.breakeven_findings import breakeven_findings, breakeven_verdict
from isthmus.model.finding import Finding
from isthmus.model.managed_findings import managed_findings, managed_verdict
from isthmus.model.openacc_findings import openacc_findings, openacc_verdict
from isthmus.model.overlap_findings import overlap_findings, overlap_verdict
from isthmus.model.phrases import capitalised, describe_device
from isthmus.model.quality import quality_findings
from isthmus.model.stencil_findings import stencil_findings, stencil_verdict
from isthmus.model.strided_findings import strided_findings, strided_verdict
from isthmus.model.surroundings import surroundings_findings
from isthmus.model.threads_findings import threads_findings, threads_verdict
from isthmus.record import LEAST_SAMPLES, Run

__all__ = ["findings", "verdict"]

_GRAVITY = ("error", "warning", "info")


@dataclass(frozen=True)
class _Experiment:
    """What one experiment contributes; both functions give nothing for a run without its cases.

    A verdict is one or two sentences that go on after a colon, so their first word keeps its own case.
    """

    name: str
    findings: Callable[[Run], list[Finding]]
    verdict: Callable[[Run], str]


# One line an experiment, in the order in which a run measures them.
_EXPERIMENTS = (
    _Experiment("bandwidth", bandwidth_findings, bandwidth_verdict),
    _Experiment("allocation", allocation_findings, allocation_verdict),
    _Experiment("batching", batching_findings, batching_verdict),
    _Experiment("breakeven", breakeven_findings, breakeven_verdict),
    _Experiment("managed", managed_findings, managed_verdict),
    _Experiment("openacc", openacc_findings, openacc_verdict),
    _Experiment("overlap", overlap_findings, overlap_verdict),
    _Experiment("stencil", stencil_findings, stencil_verdict),
    _Experiment("strided", strided_findings, strided_verdict),
    _Experiment("threads", threads_findings, threads_verdict),
)


def findings(run: Run) -> list[Finding]:
    """Every conclusion that the run supports: errors, then warnings, then facts, each group in a fixed order."""
    found = [finding for experiment in _EXPERIMENTS for finding in experiment.findings(run)]
    found += [*surroundings_findings(run), *quality_findings(run)]
    return sorted(found, key=lambda finding: _GRAVITY.index(finding.severity))


def verdict(runs: Sequence[Run]) -> str:
    """What to take away, in one line a run."""
    return "\n".join(_verdict(run) for run in runs)


def _verdict(run: Run) -> str:
    early = "" if run.end and run.end.status == "complete" else " (incomplete run)"
    subject = f"{describe_device(run)}{early}"
    errors = [finding for finding in findings(run) if finding.severity == "error"]
    if errors:
        return f"{subject}: do not rely on this run. {errors[0].sentence}"
    first, *others = [text for experiment in _EXPERIMENTS if (text := experiment.verdict(run))] or [_nothing(run)]
    return f"{subject}: {' '.join([first, *map(capitalised, others)])}"


def _nothing(run: Run) -> str:
    measured = [case for case in run.cases if case.series]
    names = ", ".join(sorted({case.experiment for case in measured}))
    if not measured:
        return "nothing was measured, so there is nothing to conclude."
    if not {case.experiment for case in measured} <= {experiment.name for experiment in _EXPERIMENTS}:
        return f"measured was {names}, about which this version concludes nothing; the table has it."
    if all(len(series.samples) < LEAST_SAMPLES for case in measured for series in case.series):
        return f"too few samples of {names} to conclude anything from; --time allows more."
    return f"what was measured of {names} leaves nothing to conclude; the table has it."
