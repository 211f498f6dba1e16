"""Whether a run can be believed: data that did not arrive, impossible rates, imprecise medians, an early end."""

from collections import Counter
from collections.abc import Iterator
from statistics import median

from isthmus.model.batching import batching_surfaces
from isthmus.model.batching_words import method_words
from isthmus.model.curve import Point, bandwidth_curves, case_metric, case_point, is_resolved
from isthmus.model.finding import Finding
from isthmus.model.overlap_times import timed_cases
from isthmus.model.phrases import link_rate, memory_name, moved_memory_name
from isthmus.model.threads import thread_curves
from isthmus.model.threads_words import threads_of
from isthmus.record import MIB, Case, Direction, Run, Settings, format_bytes, format_rate, median_interval

__all__ = ["quality_findings"]


def quality_findings(run: Run) -> list[Finding]:
    """What speaks for and against trusting the run's figures."""
    found = [
        _not_verified(run),
        _above_the_link(run),
        _calls_failed(run),
        _ended_early(run),
        _nothing_measured(run),
        _precision(run),
        _few_samples(run),
        _below_the_clock(run),
    ]
    return [finding for finding in found if finding]


def _not_verified(run: Run) -> Finding | None:
    failed = [case for case in run.cases if case.verified == "no" and not case.skipped]
    if not failed:
        return None
    first = failed[0]
    note = f" ({first.note})" if first.note else ""
    return Finding(
        "error",
        "verification",
        f"In {_cases(len(failed))} the data that arrived is not the data that was sent; the first is {_where(first)}"
        f"{note}. No conclusion here uses {'them' if len(failed) > 1 else 'it'}.",
        cause="A copy that was elided, cut short or overtaken, or faulty memory; the run alone cannot tell which.",
        fix="Repeat the run. If it happens again, test the device's memory and its driver before trusting any result.",
    )


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
        "error",
        "above_link",
        f"{_cases(len(above))} moved data faster than the link can; the fastest is "
        f"{name}, {_way(direction)}, with {format_rate(most.rate.median)} at "
        f"{format_bytes(most.bytes)} where the link carries {format_rate(limit)}: "
        "a copy was elided or the link reading is wrong.",
        fix="Compare the link's generation and width with lspci -vv under load, and do not use these rates "
        "before they agree.",
    )


def _crossings(run: Run) -> Iterator[tuple[str, Direction, Point]]:
    """What moved over the link of the run's device, with the name of what moved."""
    for curve in bandwidth_curves(run):
        yield from ((moved_memory_name(curve.host_memory), curve.direction, point) for point in curve.points)
    for threads in thread_curves(run):
        for count, point in threads.points.items():
            yield (
                f"{memory_name(threads.host_memory)} with {threads_of(threads.direction, count)}",
                threads.direction,
                point,
            )
    for surface in batching_surfaces(run):
        for cell in surface.cells.values():
            for method, point in cell.points.items():
                name = f"{memory_name(surface.host_memory)} in {cell.pieces} pieces by {method_words(method, surface)}"
                yield name, surface.direction, point
    for each in timed_cases(run):
        if each.case.direction:
            name = f"{memory_name(each.case.host_memory)} in {each.case.pieces} chunks"
            yield name, each.case.direction, case_point(each.case, run.settings.target_relative_half_width)


def _calls_failed(run: Run) -> Finding | None:
    """Cases that the device should have been able to run: the runner marks their notes, unlike those of other skips."""
    failed = [case for case in run.cases if case.skipped and case.note.startswith("failed:")]
    if not failed:
        return None
    return Finding(
        "warning",
        "calls_failed",
        f"{_cases(len(failed))} could not be measured because a call failed; the first is {_where(failed[0])} "
        f"({failed[0].note.removeprefix('failed:').strip()}).",
        fix="See the notes of these cases; a device that fails once can give wrong figures afterwards.",
    )


def _ended_early(run: Run) -> Finding | None:
    if run.end and run.end.status == "complete":
        return None
    how = "was cut off while it was measured" if run.end is None else f"ended early: it {_ENDS[run.end.status]}"
    message = f" ({run.end.message})" if run.end and run.end.message else ""
    valid = f"what was measured until then ({_cases(len(run.cases))}) is valid, the rest is missing"
    return Finding(
        "warning",
        "ended_early",
        f"The run {how}{message}; {valid if run.cases else 'no case was finished'}.",
        fix="Measure again to fill the gaps: missing sizes can hide where a curve bends or settles.",
    )


_ENDS = {"interrupted": "was interrupted", "failed": "failed"}


def _nothing_measured(run: Run) -> Finding | None:
    if any(case.series for case in run.cases):
        return None
    if not run.cases:
        return Finding("warning", "empty", "The run holds no case, so there is nothing to conclude.")
    return Finding(
        "warning",
        "empty",
        f"The run skipped every case ({len(run.cases)} in all), so there is nothing to conclude; each has its reason.",
    )


def _precision(run: Run) -> Finding | None:
    target = run.settings.target_relative_half_width
    large = [case for case in _decided(run) if case.bytes >= MIB]
    if not large:
        return None
    wide = [case for case in large if median_interval(case.samples(case_metric(case))).relative_half_width > target]
    within = f"within {100 * target:g} %"
    if not wide:
        return Finding("info", "precision", f"All {len(large)} medians of 1 MiB and above are known {within}.")
    what = "transfers" if all(case.experiment == "bandwidth" for case in wide) else "calls"
    kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(case.host_memory for case in wide).most_common(3))
    return Finding(
        "warning" if 20 * len(wide) > len(large) else "info",
        "precision",
        f"{len(wide)} of {len(large)} medians of 1 MiB and above are not known {within} ({kinds}); "
        "tables and charts show their intervals.",
        cause=f"The {what} themselves vary, or something else used the machine; more samples would narrow the "
        "interval, not the variation.",
        fix="Measure with --full on a quiet machine; what still varies then is a property of the method.",
    )


def _decided(run: Run) -> list[Case]:
    """Cases whose samples decide when they end.

    The lanes of two directions at once end with the pair, and what a process does for the first time it does once.
    """
    return [
        case
        for case in run.cases
        if case.method not in ("duplex", "open_device") and not case.method.startswith("first_") and is_resolved(case)
    ]


def _few_samples(run: Run) -> Finding | None:
    decided = _decided(run)
    # Phases of the same work are sampled together, and the longest of them decides.
    longest: dict[tuple[str, str, int], float] = {}
    for case in decided:
        key = (case.experiment, case.host_memory, case.bytes)
        longest[key] = max(longest.get(key, 0.0), median(case.samples(case_metric(case))))
    few = [
        count
        for case in decided
        if (count := len(case.samples(case_metric(case))))
        < _least_samples(run.settings, longest[case.experiment, case.host_memory, case.bytes])
    ]
    if not few:
        return None
    return Finding(
        "info",
        "few_samples",
        f"{len(few)} of {len(decided)} cases ran out of time with fewer samples than the run aimed at "
        f"(the fewest: {min(few)}); their intervals are wide or incomplete.",
        fix="Measure with --full, which gives every case more time.",
    )


def _least_samples(settings: Settings, seconds: float) -> int:
    is_long = settings.long_seconds > 0 and seconds >= settings.long_seconds
    return settings.minimum_long_samples if is_long else settings.minimum_samples


def _below_the_clock(run: Run) -> Finding | None:
    measured = [case for case in run.cases if case.samples(case_metric(case))]
    short = sum(not is_resolved(case) for case in measured)
    if not short:
        return None
    return Finding(
        "info",
        "below_clock",
        f"{_cases(short)} took less time than the clock can tell from zero and appear in no curve.",
    )


def _cases(count: int) -> str:
    return "1 case" if count == 1 else f"{count} cases"


def _way(direction: str) -> str:
    return {"h2d": "H2D", "d2h": "D2H", "both": "both ways in sum"}.get(direction, direction)


def _where(case: Case) -> str:
    way = f" {case.direction}" if case.direction else ""
    what = f"{case.method.replace('_', ' ')}{way}"
    if case.bytes:
        what += f" of {format_bytes(case.bytes)}"
    named = [
        memory_name(case.host_memory) if case.host_memory else "",
        threads_of(case.direction or "", case.threads) if case.threads else "",
        f"{case.devices} devices at once" if case.devices and case.devices > 1 else "",
        f"{case.target} to {case.peer}" if case.peer else case.target,
        "" if case.node is None else f"NUMA node {case.node}",
    ]
    return ", ".join([what, *filter(None, named)])
