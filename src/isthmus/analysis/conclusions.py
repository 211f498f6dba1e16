"""All that is concluded from a run: what each experiment shows, and what speaks against the run."""

from dataclasses import dataclass

from isthmus.analysis.machine import link_name
from isthmus.analysis.phrases import describe_device, link_rate
from isthmus.analysis.quality import quality_findings
from isthmus.document.finding import Finding, gravest_first, known
from isthmus.language import in_brackets, say
from isthmus.record import LEAST_SAMPLES, Link, Run, format_bytes, memory_kind
from isthmus.registry import EXPERIMENTS, Experiment, load

_OFF = {"", "0", "disabled", "false", "inactive", "n/a", "no", "none", "not supported", "off"}


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


def surroundings_findings(run: Run) -> list[Finding]:
    """What the fingerprint and the placement say that explains the figures or should be changed."""
    return known(
        _trained_down(run),
        _no_link(run),
        _numa(run),
        _stray_pages(run),
        _confidential(run),
        _locked_memory(run),
        _huge_pages_off(run),
    )


def _trained_down(run: Run) -> Finding | None:
    """A link that was read idle alone; one that is below its maximum under load is for the verdict on its health."""
    link = run.fingerprint.device.link
    if link is None or run.fingerprint.device.shares_host_memory:
        return None
    if link.read_under_load or not (link.is_slower or link.is_narrower):
        return None
    best = Link(generation=link.max_generation, width=link.max_width)
    values = {"now": link_name(*link.in_use), "best": link_name(*best.in_use)}
    return Finding("note", "link_trained_down", say("surroundings.trained_down_idle", **values))


def _no_link(run: Run) -> Finding | None:
    device = run.fingerprint.device
    if link_rate(run) or not run.cases:
        return None
    shares = device.shares_host_memory
    return Finding("note", "no_link", say("surroundings.shares_memory" if shares else "surroundings.link_unread"))


def _numa(run: Run) -> Finding | None:
    nodes = [node for node in run.fingerprint.host.numa_nodes if node.cpus]
    if len(nodes) < 2:
        return None
    placement = run.end.placement if run.end else None
    near = run.fingerprint.device.numa_node
    if placement is None:
        return Finding("note", "numa", say("surroundings.numa_unknown", count=len(nodes)))
    if placement.bound_node is not None:
        return None  # Whether to the right one is for the verdict on the device's health.
    fix = say("surroundings.numa_fix", node="N" if near is None else near)
    sentence = say("surroundings.numa_unbound", count=len(nodes), note=in_brackets(placement.note))
    return Finding("ATTENTION", "numa", sentence, do=(fix,))


def _stray_pages(run: Run) -> Finding | None:
    placement = run.end.placement if run.end else None
    if placement is None or placement.bound_node is None:
        return None
    node = str(placement.bound_node)
    stray = {
        kind: 1 - share[node] if node in share else 1.0
        for kind, share in placement.pages.items()
        if share and share.get(node, 0.0) < 0.95
    }
    if not stray:
        return None
    kinds = [f"{kind} {100 * share:.0f} %" for kind, share in stray.items()]
    return Finding(
        "ATTENTION",
        "stray_pages",
        say("surroundings.stray_pages", node=node, kinds=say("common.comma").join(kinds)),
        do=(say("surroundings.stray_pages_fix"),),
    )


def _confidential(run: Run) -> Finding | None:
    device, host = run.fingerprint.device, run.fingerprint.host
    modes = [say("surroundings.confidential_host", value=host.confidential)] if host.confidential else []
    modes += [
        say("surroundings.confidential_device", value=value)
        for name, value in device.conditions.items()
        if "confidential" in name.lower() and value.strip().lower() not in _OFF
    ]
    if not modes:
        return None
    sentence = say("surroundings.confidential", modes=say("common.comma").join(modes))
    return Finding("note", "confidential", sentence, cause=say("compare_causes.why_confidential"))


def _locked_memory(run: Run) -> Finding | None:
    limit = run.fingerprint.host.limits.locked_memory_bytes
    if limit is None:
        return None
    skipped = [
        case for case in run.cases if case.skipped and memory_kind(case.host_memory).locked and case.bytes > limit
    ]
    if not skipped:
        return None
    kinds = say("common.comma").join(sorted({case.host_memory for case in skipped}))
    return Finding(
        "ATTENTION",
        "locked_memory",
        say("surroundings.locked_memory", limit=format_bytes(limit), count=len(skipped), kinds=kinds),
        do=(say("compare_causes.why_locked_memory"),),
    )


def _huge_pages_off(run: Run) -> Finding | None:
    off = run.fingerprint.host.memory.transparent_huge_pages == "never"
    if not off or not any(case.skipped and memory_kind(case.host_memory).huge for case in run.cases):
        return None
    return Finding(
        "ATTENTION", "huge_pages_off", say("surroundings.huge_pages_off"), do=(say("compare_causes.why_huge_pages"),)
    )
