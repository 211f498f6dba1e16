"""What both directions at once gain over one after the other."""

from collections.abc import Sequence

from isthmus.analysis.bandwidth.words import moves
from isthmus.analysis.statistics.curve import ONE_WAY, Curve, find
from isthmus.document.finding import Finding, Level
from isthmus.language import say, sentences
from isthmus.record import Run, format_bytes, format_rate


def both_ways_findings(run: Run, curves: Sequence[Curve]) -> list[Finding]:
    """The finding about pinned memory moved in both directions at once; none where that was not measured."""
    both = find(curves, "both", "pinned")
    if both is None:
        return []
    parts = [moves(run, curves, "pinned", ["both"])]
    last = both.points[-1]
    alone = [
        point
        for direction in ONE_WAY
        if (curve := find(curves, direction, "pinned")) and (point := curve.at(last.bytes))
    ]
    share = None
    if len(alone) == len(ONE_WAY):
        added = sum(point.rate.median for point in alone)
        share = last.rate.median / added
        rate, size = format_rate(added), format_bytes(last.bytes)
        parts.append(say("bandwidth.both_of_sum", size=size, percent=100 * share, rate=rate))
    text = sentences(parts)
    if share is None or share >= 0.75:
        return [Finding("note", "both_ways", text)]
    engines = run.fingerprint.device.copy_engines
    cause = say("bandwidth.single_engine") if engines == 1 else ""
    level: Level = "note" if engines == 1 or run.fingerprint.device.shares_host_memory else "ATTENTION"
    return [Finding(level, "both_ways", text, cause=cause, do=(say("bandwidth.both_fix"),))]
