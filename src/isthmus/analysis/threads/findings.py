"""What the threads experiment says: all its findings, and what to take away in two sentences."""

from isthmus.analysis.phrases import direction_name, memory_name
from isthmus.analysis.threads.directions import both_directions_findings, busy_finding, right_finding
from isthmus.analysis.threads.gain import thread_gains
from isthmus.analysis.threads.gain_findings import gain_findings, gain_takeaways
from isthmus.analysis.threads.labels import threads_of
from isthmus.analysis.threads.model import thread_curves
from isthmus.analysis.threads.places_findings import place_findings
from isthmus.analysis.threads.spawn import SpawnCost, spawn_costs, usual_spawn_cost
from isthmus.document.finding import Finding, known
from isthmus.language import say, sentences
from isthmus.record import Run, format_bytes, format_seconds


def findings(run: Run) -> list[Finding]:
    """The findings about threads of one device, and about several devices and nodes where there are some."""
    curves = thread_curves(run)
    return known(
        *gain_findings(run, thread_gains(curves)),
        *both_directions_findings(run, curves),
        right_finding(run),
        busy_finding(run),
        _spawn_finding(usual_spawn_cost(spawn_costs(curves))),
        *place_findings(run),
    )


def takeaway(run: Run) -> Finding | None:
    """What to take away about threads; None where none were measured."""
    curves = thread_curves(run)
    texts = gain_takeaways(thread_gains(curves)) or [each.text for each in place_findings(run)[:1]]
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
