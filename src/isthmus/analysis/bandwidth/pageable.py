"""What pageable memory costs: how far it falls behind pinned memory, how erratic it is, and whether huge pages help."""

from collections.abc import Sequence

from isthmus.analysis.phrases import memory_name, settles, times
from isthmus.analysis.statistics.contrast import contrast, contrasts
from isthmus.analysis.statistics.curve import ONE_WAY, Curve, find
from isthmus.analysis.statistics.shape import LARGE_BYTES, spread
from isthmus.document.finding import Finding
from isthmus.language import capitalised, say, sentences
from isthmus.record import MIB, Run, format_bytes

# Repeats that differ by more say little of the next.
_ERRATIC = 1.25


def pageable_findings(run: Run, curves: Sequence[Curve]) -> list[Finding]:
    """The findings about pageable memory, with and without huge pages."""
    found = [_pageable(run, curves), _isthmus(curves), _huge_pages(curves)]
    return [finding for finding in found if finding]


def _pageable(run: Run, curves: Sequence[Curve]) -> Finding | None:
    said: list[str] = []
    behind = False
    for direction in ONE_WAY:
        curve, pinned = find(curves, direction, "pageable"), find(curves, direction, "pinned")
        if curve is None:
            continue
        said.append(settles(run, capitalised(memory_name("pageable")), curve))
        gap = contrast(pinned, curve) if pinned else None
        large = contrast(pinned, curve, minimum_bytes=LARGE_BYTES) if pinned else None
        behind = behind or bool(large and large.told_apart and large.ratio >= 1.25)
        if gap and gap.faster_from is not None:
            low, high = gap.span(gap.faster_from)
            said.append(say("bandwidth.pageable_behind", size=format_bytes(gap.faster_from), times=times(low, high)))
        elif gap:
            said.append(say("bandwidth.pageable_level"))
        differ = spread(curve)
        if differ and differ >= _ERRATIC:
            said.append(say("bandwidth.spread", times=times(differ, differ)))
    if not said:
        return None
    staged = behind and not run.fingerprint.device.shares_host_memory
    cause = say("bandwidth.pageable_cause") if staged else ""
    return Finding("note", "pageable", sentences(said), cause, say("bandwidth.pageable_fix") if behind else "")


def _isthmus(curves: Sequence[Curve]) -> Finding | None:
    """What the library's own copy gains over the driver's, in place of which it can be called."""
    said, helps = [], False
    for kind in ("pageable", "untouched"):
        for direction, gap in contrasts(curves, f"{kind}_isthmus", kind, LARGE_BYTES).items():
            words = {"memory": memory_name(kind), "way": direction.upper()}
            if gap.matters:
                said.append(say("bandwidth.isthmus", **words, times=times(gap.ratio, gap.ratio)))
            else:
                said.append(capitalised(say("bandwidth.isthmus_alike", **words)))
            helps = helps or (gap.matters and gap.ratio > 1)
    fix = say("bandwidth.isthmus_fix") if helps else ""
    return Finding("note", "pageable_isthmus", sentences(said), fix=fix) if said else None


def _huge_pages(curves: Sequence[Curve]) -> Finding | None:
    # Below two huge pages there is nothing for them to gain.
    gaps = contrasts(curves, "pageable_huge", "pageable", 4 * MIB)
    if not gaps:
        return None
    said = []
    for direction, gap in gaps.items():
        way = direction.upper()
        if gap.matters:
            said.append(say("bandwidth.huge_pages", times=times(gap.ratio, gap.ratio), way=way))
        else:
            said.append(say("bandwidth.huge_pages_alike", way=way))
    helps = any(gap.matters and gap.ratio > 1 for gap in gaps.values())
    return Finding("note", "pageable_huge", sentences(said), fix=say("bandwidth.huge_pages_fix") if helps else "")
