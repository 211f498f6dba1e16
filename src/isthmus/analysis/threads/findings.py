"""What the threads experiment says: all its findings, and what to take away in two sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isthmus.analysis.phrases import direction_name, link_rate, memory_name
from isthmus.analysis.statistics.curve import ONE_WAY
from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.resample import interval_of, resampled_medians
from isthmus.analysis.threads.gain import gain_findings, gain_takeaways, thread_gains
from isthmus.analysis.threads.model import ThreadCurve, reference_bytes, thread_curves, threads_of, worker_curves
from isthmus.document.finding import Finding, known
from isthmus.language import say, sentences
from isthmus.record import Interval, Run, format_bytes, format_rate, format_seconds

# Few enough threads to be usual, enough to cost something.
_USUAL_THREADS = 16
# A share of both directions' own rates that is as good as all.
_WHOLE = 0.95
# A thread that waits and keeps more of a CPU busy than this does not sleep.
_SPINS = 0.5


@dataclass(frozen=True)
class SpawnCost:
    """What creating so many threads of each direction costs one transfer.

    `seconds` is the difference of the medians of created and persistent threads, `share` that over the time with
    persistent threads; both with 95 % intervals from resampling. `curve` is that of the persistent threads.
    """

    curve: ThreadCurve
    threads: int
    seconds: Interval
    share: Interval

    @property
    def is_resolved(self) -> bool:
        """Whether the interval excludes that created threads cost nothing."""
        return self.seconds.low > 0


@once()
def spawn_costs(curves: Sequence[ThreadCurve]) -> Sequence[SpawnCost]:
    """A cost for each transfer that was measured with persistent and with created threads, by number of threads."""
    workers = {_key(curve): curve for curve in curves if curve.method == "workers"}
    pairs = [
        (workers[_key(curve)], threads, workers[_key(curve)].points[threads].samples, point.samples)
        for curve in curves
        if curve.method == "spawn" and _key(curve) in workers
        for threads, point in curve.points.items()
        if threads in workers[_key(curve)].points
    ]
    # Two seeds: with one, both would be drawn by the same ranks, and their differences look steadier than they are.
    kept = resampled_medians([samples for _, _, samples, _ in pairs], seed=1)
    spawned = resampled_medians([samples for _, _, _, samples in pairs], seed=2)
    return [
        SpawnCost(curve, threads, interval_of(spawned[row] - kept[row]), interval_of(spawned[row] / kept[row] - 1))
        for row, (curve, threads, _, _) in enumerate(pairs)
    ]


def usual_spawn_cost(costs: Sequence[SpawnCost]) -> SpawnCost | None:
    """The cost to name first: of 16 threads, if measured, for the transfer of 64 MiB that suffers the most from it."""
    size = reference_bytes([cost.curve for cost in costs])
    chosen = [cost for cost in costs if cost.curve.bytes == size and cost.curve.direction != "both"]
    counts = {cost.threads for cost in chosen}
    usual = _USUAL_THREADS if _USUAL_THREADS in counts else max(counts, default=0)
    same = [cost for cost in chosen if cost.threads == usual]
    return max(same, key=lambda cost: (cost.is_resolved, cost.share.median), default=None)


def _key(curve: ThreadCurve) -> tuple[object, ...]:
    return *curve.subject, curve.streams, curve.slicing


def findings(run: Run) -> list[Finding]:
    """The findings about threads."""
    curves = thread_curves(run)
    return known(
        *gain_findings(run, thread_gains(curves)),
        *both_directions_findings(run, curves),
        right_finding(run),
        busy_finding(run),
        _spawn_finding(usual_spawn_cost(spawn_costs(curves))),
    )


def takeaway(run: Run) -> Finding | None:
    """What to take away about threads; None where none were measured."""
    curves = thread_curves(run)
    texts = gain_takeaways(thread_gains(curves))
    spawned = _spawn_finding(usual_spawn_cost(spawn_costs(curves)))
    advice = sentences([*spawned.do, spawned.text]) if spawned and spawned.do else ""
    return Finding("note", "threads", sentences(texts), do=(advice,)) if texts or advice else None


def _spawn_finding(cost: SpawnCost | None) -> Finding | None:
    """What persistent threads save; None where that was not measured."""
    if cost is None:
        return None
    curve = cost.curve
    seconds = cost.seconds.median if cost.is_resolved else max(cost.seconds.high, 0.0)
    text = say(
        "threads.spawn" if cost.is_resolved else "threads.spawn_nothing",
        threads=threads_of(curve.direction, cost.threads),
        size=format_bytes(curve.bytes),
        direction=direction_name(curve.direction),
        memory=memory_name(curve.host_memory),
        time=format_seconds(seconds),
    )
    return Finding("note", "threads_spawn", text, do=(say("threads.spawn_fix") if cost.is_resolved else "",))


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
