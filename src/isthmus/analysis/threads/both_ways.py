"""Both directions at once against each alone, with as many threads."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.analysis.phrases import memory_name, spanned
from isthmus.analysis.statistics.contrast import MATTERS, ratio
from isthmus.analysis.threads.labels import divided_threads, link_share
from isthmus.analysis.threads.model import ThreadCurve, reference_bytes, worker_curves
from isthmus.document.finding import Finding, Severity
from isthmus.language import capitalised, enumerated, say, sentences
from isthmus.record import Interval, Run, format_bytes, format_rate

# Both directions of a link take a little from each other; below this something else is shared.
_HINDERED = 0.75


@dataclass(frozen=True)
class BothWays:
    """Both directions at once against each alone with as many threads.

    `sum` is the rate of both together, `share` that over the two directions' own rates added up, with the interval that
    the ends of theirs allow: 1 where they do not hinder each other, about one half where they take turns.
    """

    curve: ThreadCurve
    threads: int
    sum: Interval
    alone: Interval
    share: Interval


def threads_both_ways(curves: Sequence[ThreadCurve]) -> list[BothWays]:
    """For every curve both ways, and each of its numbers of threads, how it compares; empty where either was alone."""
    chosen = worker_curves(curves)
    found = []
    for curve in chosen:
        if curve.direction != "both":
            continue
        there, back = (_one_way(chosen, curve, direction) for direction in ("h2d", "d2h"))
        if there is None or back is None:
            continue
        for threads, point in curve.points.items():
            if threads not in there.points or threads not in back.points:
                continue
            ways = there.points[threads].rate, back.points[threads].rate
            alone = Interval(*(sum(ends) for ends in zip(*ways, strict=True)))
            found.append(BothWays(curve, threads, point.rate, alone, ratio(point.rate, alone)))
    return found


def _one_way(curves: Sequence[ThreadCurve], both: ThreadCurve, direction: str) -> ThreadCurve | None:
    wanted = (both.host_memory, both.bytes, both.streams, both.slicing, direction)
    for curve in curves:
        if (curve.host_memory, curve.bytes, curve.streams, curve.slicing, curve.direction) == wanted:
            return curve
    return None


def both_ways_finding(run: Run, measured: Sequence[BothWays]) -> Finding | None:
    """What both ways at once move in sum, at the size to conclude about; None where either way was not measured."""
    size = reference_bytes([each.curve for each in measured])
    chosen: dict[str, list[BothWays]] = {}
    for each in measured:
        if each.curve.bytes == size:
            chosen.setdefault(each.curve.host_memory, []).append(each)
    if not chosen:
        return None
    plainest = {kind: _plainest(same) for kind, same in chosen.items()}
    texts = [
        say(
            "threads.both_ways",
            memory=capitalised(memory_name(kind)),
            size=format_bytes(each.curve.bytes),
            rate=format_rate(each.sum.median),
            share=link_share(run, each.sum.median, "both"),
            threads=divided_threads(each.curve, each.threads),
            percent=f"{spanned(*(f'{100 * end:.0f}' for end in each.share[1:]))} %",
            alone=format_rate(each.alone.median),
        )
        for kind, each in plainest.items()
    ]
    hindered = [kind for kind, each in plainest.items() if each.share.high < _HINDERED]
    memories = enumerated([memory_name(kind) for kind in hindered])
    cause = ""
    if hindered and run.fingerprint.device.copy_engines == 1:
        cause = say("bandwidth.single_engine")
    elif hindered and "pinned" in plainest and plainest["pinned"].share.low >= _HINDERED:
        cause = say("threads.both_ways_host", memories=memories)
    fix = say("threads.both_ways_fix", memories=memories) if hindered else ""
    severity: Severity = "ATTENTION" if "pinned" in hindered and not cause else "note"
    return Finding(severity, "threads_both_ways", sentences(texts), cause, fix)


def _plainest(measured: Sequence[BothWays]) -> BothWays:
    """The fewest threads, divided in the plainest way, that no other beats by a factor that matters."""
    unbeaten = [
        each
        for each in measured
        if not any(
            other.sum.low > each.sum.high and other.sum.median >= MATTERS * each.sum.median for other in measured
        )
    ]
    return min(
        unbeaten, key=lambda each: (each.threads, each.curve.streams != "shared", each.curve.slicing != "slices")
    )
