"""What the latency experiment says: an access to other memory, and a launch."""

from collections.abc import Sequence

from isthmus.analysis.figures import Figure
from isthmus.analysis.latency.section import ends, steps
from isthmus.analysis.phrases import memory_name
from isthmus.document.finding import Finding
from isthmus.language import say, sentences
from isthmus.record import Run, format_seconds, median_interval


def findings(run: Run) -> list[Finding]:
    """At most one each about accesses and launches; the table has the other steps."""
    timed = steps(run)
    launch, fuse = _launch(timed)
    texts = {"latency_access": (_access(timed), ""), "latency_launch": (launch, fuse)}
    return [Finding("note", topic, text, do=(fix,)) for topic, (text, fix) in texts.items() if text]


def takeaway(run: Run) -> Finding | None:
    """What a launch and an access take; None where neither was measured."""
    candidates = findings(run)
    does = sentences(each.text for each in candidates)
    return (
        Finding("note", "latency", does, do=(sentences(do for each in candidates for do in each.do),))
        if candidates
        else None
    )


def _access(timed: Sequence[Figure]) -> str:
    times = [
        f"{ends(each.case) or memory_name(each.case.host_memory)} {format_seconds(each.seconds.median)}"
        for each in timed
        if each.case.method == "access" and each.seconds
    ]
    return say("latency.access", times=say("common.comma").join(times)) if times else ""


def _launch(timed: Sequence[Figure]) -> tuple[str, str]:
    """What a launch takes, and what to do about it."""
    for each in timed:
        calls = each.case.samples("enqueue_seconds")
        if each.case.method == "launch" and calls and each.seconds:
            queued, done = format_seconds(median_interval(calls).median), format_seconds(each.seconds.median)
            return say("latency.launch", queued=queued, done=done), say("latency.fuse", done=done)
    return "", ""
