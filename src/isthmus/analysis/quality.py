"""Whether a run can be believed: data that did not arrive, impossible rates, imprecise medians, an early end."""

from collections import Counter
from collections.abc import Iterator

from isthmus.analysis.overlap.model import timed_cases
from isthmus.analysis.phrases import direction_name, link_rate, memory_label, memory_name, moved_memory_name
from isthmus.analysis.pieces.cell import BATCHING
from isthmus.analysis.pieces.model import piece_cells
from isthmus.analysis.pieces.words import method_name
from isthmus.analysis.statistics.curve import Point, bandwidth_curves, case_metric, case_point, is_resolved
from isthmus.analysis.threads.model import thread_curves, threads_of
from isthmus.document.finding import Finding, known
from isthmus.language import in_brackets, say
from isthmus.record import MIB, Case, Direction, Interval, Run, format_bytes, format_rate, median_interval


def quality_findings(run: Run) -> list[Finding]:
    """What speaks for and against trusting the run's figures."""
    return known(
        *wrong_data(run),
        _above_the_link(run),
        _calls_failed(run),
        _ended_early(run),
        _nothing_measured(run),
        _few_samples(run),
        _precision(run),
    )


def wrong_data(run: Run) -> list[Finding]:
    """That data arrived wrong, with the first case: one finding, which speaks against the run and its device alike."""
    measured = [case for case in run.cases if not case.skipped]
    failed = [case for case in measured if case.verified == "no"]
    if not failed:
        return []
    first = f"{_where(failed[0])}{in_brackets(failed[0].note)}"
    text = say("quality.not_verified", count=len(failed), all=len(measured), first=first)
    # Copies between devices fail for reasons that no other copies have.
    between = all(case.is_between_devices for case in failed)
    cause = say("peers.wrong_cause") if between else ""
    return [
        Finding("FAULT", "verification", text, cause, (say("peers.wrong_fix" if between else "health.wrong_data_do"),))
    ]


def _above_the_link(run: Run) -> Finding | None:
    above = [
        (name, direction, point, limit)
        for name, direction, point in _crossings(run)
        if (limit := link_rate(run, both=direction == "both")) and point.rate.low > limit
    ]
    if not above:
        return None
    name, direction, most, limit = max(above, key=lambda each: each[2].rate.median)
    return Finding(
        "FAULT",
        "above_link",
        say(
            "quality.above_link",
            count=len(above),
            name=name,
            direction=direction_name(direction),
            rate=format_rate(most.rate.median),
            size=format_bytes(most.bytes),
            limit=format_rate(limit),
        ),
        do=(say("quality.above_link_fix"),),
    )


def _crossings(run: Run) -> Iterator[tuple[str, Direction, Point]]:
    """What moved over the link of the run's device, with the name of what moved."""
    for curve in bandwidth_curves(run):
        yield from ((moved_memory_name(curve.host_memory), curve.direction, point) for point in curve.points)
    for threads in thread_curves(run):
        memory = memory_name(threads.host_memory)
        for count, point in threads.points.items():
            many = threads_of(threads.direction, count)
            yield f"{memory}{in_brackets(many)}", threads.direction, point
    for cell in piece_cells(run, BATCHING):
        memory = memory_name(cell.host_memory)
        for method, point in cell.points.items():
            yield f"{memory}{in_brackets(method_name(method, cell.threads))}", cell.direction, point
    for each in timed_cases(run):
        if each.case.direction:
            point = case_point(each.case, run.settings.target_relative_half_width)
            yield memory_name(each.case.host_memory), each.case.direction, point


def _calls_failed(run: Run) -> Finding | None:
    """Cases that the device should have been able to run: the runner marks their notes, unlike those of other skips."""
    failed = [case for case in run.cases if case.skipped and case.note.startswith("failed:")]
    if not failed:
        return None
    why = failed[0].note.removeprefix("failed:").strip()
    return Finding(
        "ATTENTION",
        "calls_failed",
        say(
            "quality.calls_failed",
            count=len(failed),
            all=len(run.cases),
            first=f"{_where(failed[0])}{in_brackets(why)}",
        ),
    )


def _ended_early(run: Run) -> Finding | None:
    if run.end and run.end.status == "complete":
        return None
    # A run that was killed has written nothing of how far it came.
    message = run.end.message or run.end.status if run.end else say("quality.cases_in_file", count=len(run.cases))
    sentence = say("quality.ended_early", message=in_brackets(message))
    return Finding("ATTENTION", "ended_early", sentence, do=(say("quality.ended_early_fix"),))


def _nothing_measured(run: Run) -> Finding | None:
    if any(case.series for case in run.cases):
        return None
    return Finding("ATTENTION", "empty", say("quality.empty", count=len(run.cases)))


def _few_samples(run: Run) -> Finding | None:
    counts = [len(series.samples) for case in _decided(run) for series in case.series[:1]]
    few = sum(not Interval.exists_for(count) for count in counts)
    if not few:
        return None
    text = say("quality.few_samples", few=few, all=len(counts))
    return Finding("note", "few_samples", text, do=(say("quality.few_samples_fix"),))


def _precision(run: Run) -> Finding | None:
    target = run.settings.target_relative_half_width
    large = [case for case in _decided(run) if case.bytes >= MIB]
    wide = [case for case in large if median_interval(case.samples(case_metric(case))).relative_half_width > target]
    if not wide:
        return None
    most = Counter(case.host_memory for case in wide).most_common(3)
    kinds = [f"{memory_label(kind)} {count}" for kind, count in most]
    return Finding(
        "note",
        "precision",
        say(
            "quality.imprecise",
            wide=len(wide),
            all=len(large),
            percent=100 * target,
            kinds=say("common.comma").join(kinds),
        ),
        do=(say("quality.imprecise_fix"),),
    )


def _decided(run: Run) -> list[Case]:
    """Cases whose samples decide when they end.

    The lanes of two directions at once end with the pair, and what a process does for the first time it does once.
    """
    return [
        case
        for case in run.cases
        if case.method not in ("duplex", "open_device")
        and not case.method.startswith("first_")
        and not _is_lane(case)
        and is_resolved(case)
    ]


def _is_lane(case: Case) -> bool:
    """Whether it is one of several copies between devices, or over hosts' links, that ran at once."""
    is_one = bool(case.target) and (bool(case.peer) or case.method == "link")
    return case.experiment == "peers" and (case.devices or 1) > 1 and is_one


def _where(case: Case) -> str:
    """What tells the case from others, as a list of names."""
    ends = f"{case.target} → {case.peer}" if case.peer else case.target
    named = [
        case.method.replace("_", " "),
        (case.direction or "").replace("h2d", "H2D").replace("d2h", "D2H"),
        format_bytes(case.bytes) if case.bytes else "",
        memory_name(case.host_memory) if case.host_memory else "",
        threads_of(case.direction or "", case.threads) if case.threads else "",
        say("quality.devices_at_once", count=case.devices) if case.devices and case.devices > 1 else "",
        ends,
        "" if case.node is None else say("strip.node", node=case.node),
    ]
    return say("common.comma").join(filter(None, named))
