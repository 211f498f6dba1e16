"""What both directions at once gain over one after the other."""

from collections.abc import Sequence

from isthmus.model.curve import ONE_WAY, Curve, find
from isthmus.model.finding import Finding
from isthmus.model.phrases import settles
from isthmus.record import Run, format_bytes, format_rate

__all__ = ["both_ways_findings"]


def both_ways_findings(run: Run, curves: Sequence[Curve]) -> list[Finding]:
    """The finding about pinned memory moved both ways at once; none where that was not measured."""
    both = find(curves, "both", "pinned")
    if both is None:
        return []
    text = f"Pinned memory {settles(run, both)}"
    last = both.points[-1]
    alone = [point for way in ONE_WAY if (curve := find(curves, way, "pinned")) and (point := curve.at(last.bytes))]
    share = None
    if len(alone) == len(ONE_WAY):
        added = sum(point.rate.median for point in alone)
        share = last.rate.median / added
        text += (
            f"; at {format_bytes(last.bytes)} that is {100 * share:.0f} % of the two directions' own rates added up "
            f"({format_rate(added)})"
        )
    text += "."
    each = [
        f"{format_rate(point.rate.median)} {way.upper()}"
        for way in ONE_WAY
        if (curve := find(curves, way, "pinned", duplex=True)) and (point := curve.at(last.bytes))
    ]
    if each:
        text += f" Timed by the device itself, each way moves while the other runs: {' and '.join(each)}."
    if share is None or share >= 0.75:
        return [Finding("info", "both_ways", text)]
    single = run.fingerprint.device.copy_engines == 1
    return [
        Finding(
            "warning",
            "both_ways",
            text,
            cause="The device has a single copy engine, so the two directions take turns." if single else "",
            fix="Do not count on overlapping the two directions on this machine.",
        )
    ]
