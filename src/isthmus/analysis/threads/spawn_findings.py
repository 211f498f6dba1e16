"""What creating threads for each transfer costs, in sentences: per transfer, per thread and of the transfer's time."""

from collections.abc import Sequence
from math import log2

from isthmus.analysis.phrases import about_bytes, memory_name, spanned, way_name
from isthmus.analysis.threads.model import ThreadCurve, reference_bytes
from isthmus.analysis.threads.spawn import SpawnCost, SpawnFit, spawn_costs, spawn_fit
from isthmus.analysis.threads.words import threads_of
from isthmus.document.finding import Finding
from isthmus.language import enumerated, say, sentences
from isthmus.record import Interval, format_bytes, format_seconds

__all__ = ["spawn_finding", "usual_spawn_cost"]

# Few enough threads to be usual, enough to cost something.
_USUAL_THREADS = 16
# What a transfer may lose to the creation of its threads before anyone minds.
_MINDED = 0.05


def usual_spawn_cost(costs: Sequence[SpawnCost]) -> SpawnCost | None:
    """The cost to tell first: of 16 threads, if measured, for the transfer of 64 MiB that suffers the most from it."""
    size = reference_bytes([cost.curve for cost in costs])
    chosen = [cost for cost in costs if cost.curve.bytes == size and cost.curve.direction != "both"]
    counts = {cost.threads for cost in chosen}
    if not counts:
        return None
    usual = _USUAL_THREADS if _USUAL_THREADS in counts else max(counts)
    return max((cost for cost in chosen if cost.threads == usual), key=lambda cost: (cost.certain, cost.share.median))


def spawn_finding(curves: Sequence[ThreadCurve]) -> Finding | None:
    """What persistent threads save; None where created ones were not measured beside them."""
    costs = spawn_costs(curves)
    cost = usual_spawn_cost(costs)
    if cost is None:
        return None
    curve, fit = cost.curve, spawn_fit(costs)
    threads, memory = threads_of(curve.direction, cost.threads), memory_name(curve.host_memory)
    size, way = format_bytes(curve.bytes), way_name(curve.direction)
    line = _line(fit, len(costs)) if fit else ""
    if not cost.certain:
        most = format_seconds(max(cost.seconds.high, 0.0))
        text = say("threads.spawn_nothing", threads=threads, size=size, way=way, memory=memory, most=most)
        return Finding("info", "threads_spawn", sentences([text, line]))
    time, shares = _span(cost.seconds), _shares(costs, cost)
    key = "threads.spawn_share" if shares else "threads.spawn"
    text = say(key, threads=threads, time=time, size=size, way=way, memory=memory, shares=shares)
    return Finding(
        "info",
        "threads_spawn",
        sentences([text, line]),
        cause=say("threads.spawn_cause"),
        fix=sentences([say("threads.spawn_fix"), _minded_below(cost)]),
    )


def _line(fit: SpawnFit, transfers: int) -> str:
    if fit.per_thread.low <= 0:
        return say("threads.line_unknown", transfers=transfers)
    key = "threads.line" if fit.fixed.low > 0 else "threads.line_alone"
    return say(key, transfers=transfers, per_thread=_span(fit.per_thread), fixed=_span(fit.fixed))


def _shares(costs: Sequence[SpawnCost], told: SpawnCost) -> str:
    if not told.share_tells:
        return ""
    return enumerated([say("threads.spawn_percent", percent=_percent(told.share)), *_other_sizes(costs, told)])


def _other_sizes(costs: Sequence[SpawnCost], told: SpawnCost) -> list[str]:
    """The share at each other size where it tells, with as many threads or the nearest number measured there."""
    alike = [cost for cost in costs if cost.share_tells and _way(cost.curve) == _way(told.curve)]
    found = []
    for size in sorted({cost.curve.bytes for cost in alike if cost.curve.bytes != told.curve.bytes}):
        same = [cost for cost in alike if cost.curve.bytes == size]
        cost = min(same, key=lambda cost: (abs(log2(cost.threads / told.threads)), -cost.threads))
        percent = _percent(cost.share) if cost.certain else say("threads.nothing_certain")
        key = "threads.spawn_at" if cost.threads == told.threads else "threads.spawn_at_with"
        threads = threads_of(cost.curve.direction, cost.threads)
        found.append(say(key, percent=percent, threads=threads, size=format_bytes(size)))
    return found


def _way(curve: ThreadCurve) -> tuple[str, ...]:
    """All of a curve but its size."""
    return curve.host_memory, curve.direction, curve.streams, curve.slicing


def _minded_below(cost: SpawnCost) -> str:
    """From which size on the creation stops to matter, at this rate; empty if it does not matter here."""
    if not cost.share_tells or cost.share.low <= _MINDED:
        return ""
    size = cost.share.median / _MINDED * cost.curve.bytes
    threads = threads_of(cost.curve.direction, cost.threads)
    return say("threads.spawn_minded", threads=threads, percent=100 * _MINDED, size=about_bytes(size))


def _span(seconds: Interval) -> str:
    low, high = (format_seconds(max(end, 0.0)) for end in (seconds.low, seconds.high))
    return say("threads.time_span", time=format_seconds(seconds.median), span=spanned(low, high))


def _percent(share: Interval) -> str:
    return f"{100 * share.median:.2g} %" if share.median < 0.1 else f"{100 * share.median:.0f} %"
