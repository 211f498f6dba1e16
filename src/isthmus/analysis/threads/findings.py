"""What the threads experiment says: all its findings, and what to take away in two sentences."""

from collections.abc import Sequence

from isthmus.analysis.phrases import memory_name, way_name
from isthmus.analysis.threads.gain import thread_gains
from isthmus.analysis.threads.gain_findings import gain_findings, gain_takeaways
from isthmus.analysis.threads.model import ThreadCurve, thread_curves, worker_curves
from isthmus.analysis.threads.modes_findings import mode_findings
from isthmus.analysis.threads.places_findings import place_findings
from isthmus.analysis.threads.spawn import SpawnCost, spawn_costs, usual_spawn_cost
from isthmus.analysis.threads.words import threads_of
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import say, sentences
from isthmus.record import Run, format_bytes, format_rate, format_seconds


def findings(run: Run) -> list[Finding]:
    """The findings about threads of one device, and about several devices and nodes where there are some."""
    curves = thread_curves(run)
    cost = usual_spawn_cost(spawn_costs(curves))
    spawned = [_spawn_finding(cost)] if cost else []
    return [*gain_findings(run, thread_gains(curves)), *mode_findings(run, curves), *spawned, *place_findings(run)]


def takeaway(run: Run) -> Takeaway | None:
    """What to take away about threads; None where none were measured."""
    curves = thread_curves(run)
    told = gain_takeaways(run, thread_gains(curves)) or _without_gains(run, curves)
    cost = usual_spawn_cost(spawn_costs(curves))
    advice = ""
    if cost and cost.is_resolved:
        threads, time = threads_of(cost.curve.direction, cost.threads), format_seconds(cost.seconds.median)
        advice = say("threads.takeaway_keep", threads=threads, time=time)
        if cost.has_share:
            memory, size = memory_name(cost.curve.host_memory), format_bytes(cost.curve.bytes)
            percent = 100 * cost.share.median
            key = "threads.takeaway_keep_share"
            advice = say(key, threads=threads, time=time, percent=percent, size=size, memory=memory)
    return Takeaway(sentences(told), advice) if told or advice else None


def _spawn_finding(cost: SpawnCost) -> Finding:
    """What persistent threads save."""
    curve = cost.curve
    about = {
        "threads": threads_of(curve.direction, cost.threads),
        "size": format_bytes(curve.bytes),
        "way": way_name(curve.direction),
        "memory": memory_name(curve.host_memory),
    }
    if not cost.is_resolved:
        text = say("threads.spawn_nothing", **about, most=format_seconds(max(cost.seconds.high, 0.0)))
        return Finding("info", "threads_spawn", text)
    text = say("threads.spawn", **about, time=format_seconds(cost.seconds.median))
    if cost.has_share:
        percent = 100 * cost.share.median
        text = say("threads.spawn_share", **about, time=format_seconds(cost.seconds.median), percent=percent)
    return Finding("info", "threads_spawn", text, cause=say("threads.spawn_cause"), fix=say("threads.spawn_fix"))


def _without_gains(run: Run, curves: Sequence[ThreadCurve]) -> list[str]:
    """What there is to say where nothing compares one thread with more."""
    if places := place_findings(run):
        return [places[0].sentence]
    measured = worker_curves(curves)
    if not measured:
        return []
    fastest = max(measured, key=lambda curve: max(point.rate.median for point in curve.points.values()))
    count, point = max(fastest.points.items(), key=lambda each: each[1].rate.median)
    return [
        say(
            "threads.takeaway_fastest",
            threads=threads_of(fastest.direction, count),
            rate=format_rate(point.rate.median),
            way=way_name(fastest.direction),
            memory=memory_name(fastest.host_memory),
            size=format_bytes(fastest.bytes),
        )
    ]
