"""Copies of many threads in sentences: that all arrived right, and what both directions at once move of twice one."""

from collections.abc import Iterator, Sequence

from isthmus.analysis.phrases import link_rate, memory_name
from isthmus.analysis.statistics.curve import ONE_WAY
from isthmus.analysis.threads.labels import threads_of
from isthmus.analysis.threads.model import ThreadCurve, reference_bytes, worker_curves
from isthmus.document.finding import Finding
from isthmus.language import say
from isthmus.record import Run, format_bytes, format_rate

# A share of both directions' own rates that is as good as all.
_WHOLE = 0.95
# A thread that waits and keeps more of a CPU busy than this does not sleep.
_SPINS = 0.5


def right_finding(run: Run) -> Finding | None:
    """With how many threads at once contents were compared, and were right; None where any was wrong."""
    copies = [case for case in run.cases if case.experiment == "threads" and not case.skipped]
    verified = [
        (case.threads or 1) * (2 if case.direction == "both" else 1) for case in copies if case.verified == "yes"
    ]
    if not verified or any(case.verified == "no" for case in copies):
        return None
    text = say("threads.right", threads=max(verified), count=len(verified))
    return Finding("note", "threads_right", text)


def busy_finding(run: Run) -> Finding | None:
    """How many CPUs copies of pinned memory keep busy, in which nothing but waiting needs one; None where not known."""
    busy = {
        case.threads or 1: case.busy_cpus
        for case in run.cases
        if case.experiment == "threads"
        and (case.method, case.host_memory, case.direction) == ("workers", "pinned", "h2d")
        and case.busy_cpus is not None
        and case.streams == 1
        and case.pieces is None
    }
    if not busy or run.fingerprint.device.shares_host_memory:
        return None
    fewest, most = min(busy), max(busy)
    rates = [f"{busy[count]:.2f}" for count in (fewest, most)]
    counts = [threads_of("h2d", count) for count in (fewest, most)]
    text = say("threads.busy", threads=counts[0], busy=rates[0], most=counts[1], busy_most=rates[1])
    spins = busy[fewest] > _SPINS
    return Finding(
        "note",
        "threads_busy",
        text,
        cause=say("threads.spins" if spins else "threads.sleeps"),
        do=(say("threads.spins_fix") if spins else "",),
    )


def both_directions_findings(run: Run, curves: Sequence[ThreadCurve]) -> Iterator[Finding]:
    """For each kind of memory the best rate of both directions at once over the sum of each direction's best alone."""
    workers = worker_curves(curves)
    size = reference_bytes(workers)
    for kind in dict.fromkeys(curve.host_memory for curve in workers):
        best = {
            direction: max(rates)
            for direction in (*ONE_WAY, "both")
            if (rates := [*_rates(workers, kind, direction, size)])
        }
        if size is None or len(best) < 3:
            continue
        twice = best["h2d"] + best["d2h"]
        share = best["both"] / twice
        text = say(
            "threads.both_directions",
            memory=memory_name(kind),
            size=format_bytes(size),
            rate=format_rate(best["both"]),
            percent=100 * share,
            twice=format_rate(twice),
        )
        yield Finding("note", f"threads_both_{kind}", text, cause="" if share >= _WHOLE else _cause(run, kind))


def _rates(curves: Sequence[ThreadCurve], kind: str, direction: str, size: int | None) -> Iterator[float]:
    for curve in curves:
        if (curve.host_memory, curve.direction, curve.bytes) == (kind, direction, size):
            yield from (point.rate.median for point in curve.points.values())


def _cause(run: Run, kind: str) -> str:
    """What the directions share, as far as it is known of this device and memory."""
    if run.fingerprint.device.shares_host_memory:
        return say("threads.both_one_memory")
    if kind.startswith("pageable"):
        return say("threads.both_staged")
    return say("threads.both_link") if link_rate(run) else ""
