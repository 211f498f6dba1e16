"""All that is concluded from a run: what each experiment shows, and what speaks against the run."""

from dataclasses import dataclass

from isthmus.analysis.phrases import describe_device
from isthmus.analysis.quality import quality_findings
from isthmus.analysis.surroundings import surroundings_findings
from isthmus.document.finding import Finding, gravest_first
from isthmus.language import say
from isthmus.record import LEAST_SAMPLES, Run
from isthmus.registry import EXPERIMENTS, Experiment, load


@dataclass(frozen=True)
class Conclusion:
    """What one experiment of a run shows: its answer, None where it gives none, and its findings, the gravest first.

    `experiment` is empty for what concerns the run or the machine as a whole.
    """

    experiment: str
    takeaway: Finding | None
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Conclusions:
    """All conclusions of a run; `nothing` says why there is no answer where no experiment gives one.

    `experiments` are those with anything to say, in the order of a report; `whole` is of run and machine.
    """

    device: str
    complete: bool
    whole: Conclusion
    experiments: tuple[Conclusion, ...]
    nothing: str

    @property
    def findings(self) -> list[Finding]:
        """All findings, FAULT, then ATTENTION, then notes, each group in the order of a report."""
        return gravest_first([finding for each in (*self.experiments, self.whole) for finding in each.findings])

    @property
    def reliable(self) -> bool:
        """Whether nothing speaks against every figure of the run."""
        return all(finding.level != "FAULT" for finding in self.findings)

    def of(self, experiment: str) -> Conclusion:
        """What the experiment shows; an empty conclusion where it shows nothing."""
        of_name = (each for each in self.experiments if each.experiment == experiment)
        return next(of_name, Conclusion(experiment, None, ()))


def conclude(run: Run) -> Conclusions:
    """Everything that the run supports, in the language spoken now; takes up to seconds for a run of everything."""
    concluded = [_concluded(run, experiment) for experiment in EXPERIMENTS]
    known = tuple(each for each in concluded if each.takeaway or each.findings)
    return Conclusions(
        device=describe_device(run),
        complete=bool(run.end and run.end.status == "complete"),
        whole=Conclusion("", None, tuple(gravest_first([*quality_findings(run), *surroundings_findings(run)]))),
        experiments=known,
        nothing="" if any(each.takeaway for each in known) else _nothing(run),
    )


def findings(run: Run) -> list[Finding]:
    """Every conclusion that the run supports: FAULT, then ATTENTION, then notes, each group in a fixed order."""
    return conclude(run).findings


def _concluded(run: Run, experiment: Experiment) -> Conclusion:
    analysis = load(experiment.findings, ("findings", "takeaway"))
    return Conclusion(experiment.name, analysis.takeaway(run), tuple(gravest_first(analysis.findings(run))))


def _nothing(run: Run) -> str:
    measured = [case for case in run.cases if case.series]
    names = ", ".join(sorted({case.experiment for case in measured}))
    if not measured:
        return say("conclusions.nothing_measured")
    if not {case.experiment for case in measured} <= {experiment.name for experiment in EXPERIMENTS}:
        return say("conclusions.unknown_experiment", names=names)
    if all(len(series.samples) < LEAST_SAMPLES for case in measured for series in case.series):
        return say("conclusions.too_few_samples", names=names)
    return say("conclusions.nothing_left", names=names)
