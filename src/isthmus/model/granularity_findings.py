"""What the managed experiment says about how much moves at a time, and where counters and timing differ."""

from collections.abc import Mapping, Sequence

from isthmus.model.finding import Finding
from isthmus.model.granularity import Mechanism, mechanisms
from isthmus.model.granularity_counts import Counted, counted_passes, why_not_counted
from isthmus.model.granularity_timing import Unit
from isthmus.model.phrases import capitalised, enumerated
from isthmus.record import Run, format_bytes, format_seconds

__all__ = ["granularity_findings", "granularity_verdict", "unit_words"]

# A share of the bytes that is worth a word.
_WORTH_SAYING = 0.05


def granularity_findings(run: Run) -> list[Finding]:
    """The units of all mechanisms and what waiting costs; differences, each by itself; why nothing was counted."""
    found = mechanisms(run)
    by_key = {each.key: each for each in found}
    told = [*_unit_sentences(by_key), *_prefetch_sentences(by_key)]
    findings = []
    if told:
        sentence = f"{capitalised('; '.join(told))}. {_agreement(found)}{_costs(by_key)}"
        findings.append(Finding("info", "managed_granularity", sentence.strip(), fix=_fix(by_key)))
    passes = counted_passes(run)
    findings += [_difference(each, passes) for each in found if each.agreement == "no"]
    if reason := why_not_counted(run):
        alone = ": how much moves at a time is known from timing alone" if told else ""
        findings.append(Finding("info", "migrations_not_counted", f"No migration was counted{alone}.", reason))
    lossy = [each.case.note for each in passes if each.case.note]
    if lossy:
        findings.append(
            Finding(
                "warning", "migrations_lost", f"Of {len(lossy)} counted passes the counts are not whole: {lossy[0]}."
            )
        )
    return findings


def granularity_verdict(run: Run) -> str:
    """What to take away, as part of a sentence; empty where no unit is known."""
    return "; ".join(_unit_sentences({each.key: each for each in mechanisms(run)}))


def unit_words(unit: Unit) -> str:
    """``64 KiB``, ``more than 2 MiB``, ``at least 4 MiB``, a range where there is a gap, or ``cannot tell``."""
    if unit.bytes is None:
        return "cannot tell"
    if unit.beyond:
        return f"{'at least' if unit.reached else 'more than'} {format_bytes(unit.bytes)}"
    if unit.more_than:
        return f"more than {format_bytes(unit.more_than)}, at most {format_bytes(unit.bytes)}"
    return format_bytes(unit.bytes)


def _unit_sentences(by_key: Mapping[str, Mechanism]) -> list[str]:
    told = []
    for side, name in (("device", "a fault of the device"), ("host", "a fault of the CPU")):
        mechanism = by_key.get(side)
        if mechanism is None or mechanism.unit is None:
            continue
        unit = mechanism.unit
        grown = by_key.get(f"{side}_grown")
        reach = grown.unit if grown else None
        text = f"{name} moves {unit_words(unit)} of managed memory"
        if reach and reach.bytes and unit.bytes:
            if reach.bytes > unit.bytes or reach.beyond:
                text += f", and the driver completes parts of {_up_to(reach)} once more than half is in use"
            else:
                text += ", to which the driver adds nothing"
        told.append(text)
    return told


def _up_to(reach: Unit) -> str:
    return unit_words(reach) if reach.beyond or reach.more_than else f"up to {unit_words(reach)}"


def _prefetch_sentences(by_key: Mapping[str, Mechanism]) -> list[str]:
    ways = [
        f"{unit_words(mechanism.unit)} to the {side}"
        for side, key in (("device", "prefetch_h2d"), ("host", "prefetch_d2h"))
        if (mechanism := by_key.get(key)) and mechanism.unit
    ]
    return [f"an explicit prefetch of a page moves {enumerated(ways)}"] if ways else []


def _agreement(found: Sequence[Mechanism]) -> str:
    compared = [each for each in found if each.agreement != "cannot tell"]
    if not compared:
        return ""
    differ = [each.name for each in compared if each.agreement == "no"]
    if differ:
        return f"Counters and timing differ about {enumerated(differ)}. "
    every = "all of it" if len(compared) == len(found) else f"{enumerated([each.name for each in compared])}"
    return f"Counters and timing agree about {every}. "


def _costs(by_key: Mapping[str, Mechanism]) -> str:
    parts = [
        f"{format_seconds(mechanism.waiting.median)} on the {side} "
        f"({format_seconds(mechanism.there.median)} where the page is there)"
        for side, key in (("device with its share of the launch", "device"), ("CPU", "host"))
        if (mechanism := by_key.get(key)) and mechanism.waiting and mechanism.there
    ]
    return f"A touch that has to wait takes {enumerated(parts)}." if parts else ""


def _fix(by_key: Mapping[str, Mechanism]) -> str:
    mechanism = by_key.get("device")
    unit = mechanism.unit if mechanism and mechanism.waiting else None
    if unit is None or not unit.bytes or unit.beyond:
        return ""
    return (
        f"Touches farther apart than {format_bytes(unit.bytes)} wait for a fault each: prefetch what will be "
        "touched, or copy it explicitly."
    )


def _difference(mechanism: Mechanism, passes: Sequence[Counted]) -> Finding:
    counted, timed = mechanism.counted, mechanism.timed
    assert counted is not None
    assert timed is not None
    sentence = (
        f"About {mechanism.name} counters say {unit_words(counted)} and timing says {unit_words(timed)}; "
        f"{_reported(mechanism, passes)}."
    )
    if (counted.bytes or 0) > (timed.bytes or 0):
        cause = (
            "More moved than touches find without waiting, so what came along is not mapped for whoever touches it, or "
            "was still on its way."
        )
    else:
        cause = (
            "Touches find more than was reported to move, so the driver brought it without a report, or it never left."
        )
    return Finding("info", "granularity_differs", sentence, cause)


def _reported(mechanism: Mechanism, passes: Sequence[Counted]) -> str:
    """What the reports of the mechanism's passes hold: sizes, and the share that the driver added of its own accord."""
    side, _, rest = mechanism.key.partition("_")
    if side == "prefetch":
        chosen = [each for each in passes if each.case.method == "counted_prefetch" and each.case.direction == rest]
    else:
        chosen = [each for each in passes if each.case.method.startswith(f"counted_{side}_")]
    chosen = [each for each in chosen if each.is_far_apart != (rest == "grown")] or chosen
    if not chosen or not chosen[0].sizes:
        return "nothing else was reported of it"
    first = chosen[0]
    small, large = min(first.sizes), max(first.sizes)
    sizes = format_bytes(small) if small == large else f"{format_bytes(small)} to {format_bytes(large)}"
    text = f"{sum(first.sizes.values())} migrations of {sizes} were reported"
    share = first.share("prefetch")
    return text + (
        f", {100 * share:.0f} % of the bytes as the driver's own prefetching" if share > _WORTH_SAYING else ""
    )
