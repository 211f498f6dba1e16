"""What the latency experiment says: an access to other memory, a launch beside an event and a wait, a copy."""

from collections.abc import Sequence

from isthmus.analysis.latency.model import Step, steps
from isthmus.analysis.phrases import memory_name
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import enumerated, say, sentences
from isthmus.record import Run, format_bytes, format_rate, format_seconds


def findings(run: Run) -> list[Finding]:
    """At most one each about accesses, launches and copies; none for a run without them."""
    found = steps(run)
    texts = {"latency_access": _access(found), "latency_launch": _launch(found), "latency_copy": _copy(found)}
    return [Finding("note", topic, text) for topic, text in texts.items() if text]


def takeaway(run: Run) -> Takeaway | None:
    """What a launch and an access take; None where neither was measured."""
    found = steps(run)
    launch = _step(found, "launch")
    if launch is None:
        return Takeaway(text) if (text := _access(found)) else None
    done = format_seconds(launch.seconds.median)
    return Takeaway(sentences([_access(found), say("latency.launch_takes", done=done)]), say("latency.fuse", done=done))


def _access(found: Sequence[Step]) -> str:
    times = [
        say("latency.access_time", time=format_seconds(each.seconds.median), memory=_memory(each))
        for each in found
        if each.method == "access"
    ]
    return say("latency.access", times=enumerated(times)) if times else ""


def _memory(step: Step) -> str:
    return say("latency.peer_memory", ends=step.ends) if step.ends else memory_name(step.memory)


def _launch(found: Sequence[Step]) -> str:
    launch, event, wait = (_step(found, method) for method in ("launch", "event", "wait"))
    parts = []
    if launch and launch.queued:
        queued, done = format_seconds(launch.queued.median), format_seconds(launch.seconds.median)
        parts.append(say("latency.launch", queued=queued, done=done))
    if event:
        parts.append(say("latency.event", time=format_seconds(event.seconds.median)))
    if wait:
        parts.append(say("latency.wait", time=format_seconds(wait.seconds.median)))
    return sentences(parts)


def _copy(found: Sequence[Step]) -> str:
    copies = [each for each in found if each.rate]
    if not copies:
        return ""
    largest = max(copies, key=lambda each: each.bytes)
    assert largest.rate is not None
    rate, size = format_rate(largest.rate.median), format_bytes(largest.bytes)
    return say("latency.copy", rate=rate, size=size)


def _step(found: Sequence[Step], method: str) -> Step | None:
    return next((each for each in found if each.method == method), None)
