"""What creating threads for each transfer costs, in sentences: per transfer, per thread and of the transfer's time."""

from collections.abc import Sequence
from math import log2

from isthmus.model.finding import Finding
from isthmus.model.phrases import about_bytes, memory_name
from isthmus.model.threads import ThreadCurve, reference_bytes
from isthmus.model.threads_spawn import SpawnCost, SpawnFit, spawn_costs, spawn_fit
from isthmus.model.threads_words import joined, threads_of, way_name
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
    subject = (
        f"Creating and joining {threads_of(curve.direction, cost.threads)} for each transfer, instead of waking "
        "persistent ones,"
    )
    transfer = (
        f"a transfer of {format_bytes(curve.bytes)} {way_name(curve.direction)}, {memory_name(curve.host_memory)}"
    )
    line = _line(fit, len(costs)) if fit else ""
    if not cost.certain:
        most = max(cost.seconds.high, 0.0)
        return Finding(
            "info",
            "threads_spawn",
            f"{subject} adds nothing certain to {transfer} (at most {format_seconds(most)}).{line}",
        )
    return Finding(
        "info",
        "threads_spawn",
        f"{subject} adds {_span(cost.seconds)} to {transfer}{_shares(costs, cost)}.{line}",
        cause="A thread that is created needs a stack of its own and a first turn on a CPU; one that waits is woken.",
        fix=f"Keep the threads and wake them for each transfer{_minded_below(cost)}.",
    )


def _line(fit: SpawnFit, transfers: int) -> str:
    if fit.per_thread.low <= 0:
        return f" A straight line through all {transfers} transfers cannot tell the cost of a thread from zero."
    besides = f", and {_span(fit.fixed)} besides" if fit.fixed.low > 0 else ", and nothing certain besides"
    return f" A straight line through all {transfers} transfers gives {_span(fit.per_thread)} for each thread{besides}."


def _shares(costs: Sequence[SpawnCost], told: SpawnCost) -> str:
    if not told.share_tells:
        return ""
    return f": {_percent(told.share)} of what it takes with persistent ones{_other_sizes(costs, told)}"


def _other_sizes(costs: Sequence[SpawnCost], told: SpawnCost) -> str:
    """The share at each other size where it tells, with as many threads or the nearest number measured there."""
    alike = [cost for cost in costs if cost.share_tells and _way(cost.curve) == _way(told.curve)]
    found = []
    for size in sorted({cost.curve.bytes for cost in alike if cost.curve.bytes != told.curve.bytes}):
        same = [cost for cost in alike if cost.curve.bytes == size]
        cost = min(same, key=lambda cost: (abs(log2(cost.threads / told.threads)), -cost.threads))
        count = "" if cost.threads == told.threads else f" with {threads_of(cost.curve.direction, cost.threads)}"
        found.append(f"{_percent(cost.share) if cost.certain else 'nothing certain'}{count} at {format_bytes(size)}")
    return f", and {joined(found)}" if found else ""


def _way(curve: ThreadCurve) -> tuple[str, ...]:
    """All of a curve but its size."""
    return curve.host_memory, curve.direction, curve.streams, curve.slicing


def _minded_below(cost: SpawnCost) -> str:
    """From which size on the creation stops to matter, at this rate; empty if it does not matter here."""
    if not cost.share_tells or cost.share.low <= _MINDED:
        return ""
    size = cost.share.median / _MINDED * cost.curve.bytes
    return (
        f"; at this rate the cost of {threads_of(cost.curve.direction, cost.threads)} falls below "
        f"{100 * _MINDED:.0f} % from {about_bytes(size)} on"
    )


def _span(seconds: Interval) -> str:
    ends = [format_seconds(max(end, 0.0)) for end in (seconds.low, seconds.high)]
    return f"{format_seconds(seconds.median)} ({' to '.join(ends)})"


def _percent(share: Interval) -> str:
    return f"{100 * share.median:.2g} %" if share.median < 0.1 else f"{100 * share.median:.0f} %"
