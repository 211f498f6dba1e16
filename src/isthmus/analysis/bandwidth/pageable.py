"""What pageable memory costs: how far it falls behind pinned memory, how erratic it is, and whether huge pages help."""

from collections.abc import Sequence

from isthmus.analysis.phrases import settles, times
from isthmus.analysis.statistics.contrast import contrast, contrasts
from isthmus.analysis.statistics.curve import ONE_WAY, Curve, find
from isthmus.analysis.statistics.shape import LARGE_BYTES, steadiness
from isthmus.document.finding import Finding
from isthmus.language import say, sentences
from isthmus.record import MIB, Direction, Run, format_bytes


def pageable_findings(run: Run, curves: Sequence[Curve]) -> list[Finding]:
    """The findings about pageable memory, with and without huge pages."""
    found = [_pageable(run, curves), _isthmus(curves), _huge_pages(run, curves)]
    return [finding for finding in found if finding]


def _pageable(run: Run, curves: Sequence[Curve]) -> Finding | None:
    said: list[str] = []
    behind = erratic = False
    for direction in ONE_WAY:
        curve, pinned = find(curves, direction, "pageable"), find(curves, direction, "pinned")
        if curve is None:
            continue
        text = settles(run, say("curve.it" if said else "bandwidth.pageable_name"), curve)
        gap = contrast(pinned, curve) if pinned else None
        large = contrast(pinned, curve, minimum_bytes=LARGE_BYTES) if pinned else None
        behind = behind or bool(large and large.told_apart and large.ratio >= 1.25)
        if gap and gap.faster_from is not None:
            low, high = gap.span(gap.faster_from)
            size = format_bytes(gap.faster_from)
            text = say("bandwidth.pageable_behind", settles=text, size=size, times=times(low, high))
        elif gap:
            text = say("bandwidth.pageable_level", settles=text)
        else:
            text = say("bandwidth.sentence", text=text)
        said.append(text)
        restless = _restless(direction, curve, pinned)
        erratic = erratic or bool(restless)
        said.append(restless)
    if not said:
        return None
    cause = fix = ""
    if behind and not run.fingerprint.device.shares_host_memory:
        cause = say("bandwidth.pageable_cause")
    if behind:
        fix = say("bandwidth.pageable_fix")
    elif erratic:
        cause, fix = say("bandwidth.erratic_cause"), say("bandwidth.erratic_fix")
    return Finding("note", "pageable", sentences(said), cause, fix)


def _restless(direction: Direction, curve: Curve, pinned: Curve | None) -> str:
    """How erratic the curve is, in a sentence; empty if it is not."""
    found, reference = steadiness(curve), steadiness(pinned) if pinned else None
    if found is None or not found.erratic:
        return ""
    parts = []
    if found.spread >= 1.25:
        against = say("bandwidth.pinned_spread", times=times(reference.spread, reference.spread)) if reference else ""
        parts.append(say("bandwidth.spread", times=times(found.spread, found.spread), against=against))
    if found.drop >= 1.25 and found.turns >= 2:
        against = say("bandwidth.pinned_drop", times=times(reference.drop, reference.drop)) if reference else ""
        parts.append(say("bandwidth.drop", times=times(found.drop, found.drop), against=against))
    what = parts[0] if len(parts) == 1 else say("bandwidth.both_swings", spread=parts[0], drop=parts[-1])
    return say("bandwidth.erratic", way=direction.upper(), what=what)


def _isthmus(curves: Sequence[Curve]) -> Finding | None:
    """What the library's own copy gains over the driver's, in place of which it can be called."""
    said, helps = [], False
    for kind in ("pageable", "untouched"):
        for direction, gap in contrasts(curves, f"{kind}_isthmus", kind, LARGE_BYTES).items():
            rates = {"way": direction.upper(), "times": times(gap.ratio, gap.ratio)}
            said.append(say(f"bandwidth.isthmus_{kind}" if gap.matters else f"bandwidth.isthmus_{kind}_alike", **rates))
            helps = helps or (gap.matters and gap.ratio > 1)
    fix = say("bandwidth.isthmus_fix") if helps else ""
    return Finding("note", "pageable_isthmus", sentences(said), fix=fix) if said else None


def _huge_pages(run: Run, curves: Sequence[Curve]) -> Finding | None:
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
    always = run.fingerprint.host.memory.transparent_huge_pages == "always"
    return Finding(
        "note",
        "pageable_huge",
        sentences(said),
        cause=say("bandwidth.huge_pages_always") if always and not helps else "",
        fix=say("bandwidth.huge_pages_fix") if helps else "",
    )
