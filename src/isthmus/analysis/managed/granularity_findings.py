"""What the managed experiment says about how much moves at a time, and where counters and timing differ."""

from collections.abc import Mapping, Sequence

from isthmus.analysis.managed.granularity import Mechanism, mechanisms
from isthmus.analysis.managed.granularity_counts import Counted, counted_passes, why_not_counted
from isthmus.analysis.managed.granularity_timing import Unit
from isthmus.analysis.phrases import spanned
from isthmus.document.finding import Finding
from isthmus.language import enumerated, say, sentences
from isthmus.record import Run, format_bytes, format_seconds

__all__ = ["granularity_findings", "granularity_verdict", "unit_words"]

# A share of the bytes that is worth a word.
_WORTH_SAYING = 0.05


def granularity_findings(run: Run) -> list[Finding]:
    """The units of all mechanisms and what waiting costs; differences, each by itself; why nothing was counted."""
    found = mechanisms(run)
    by_key = {each.key: each for each in found}
    told = [*_unit_sentences(by_key), _prefetch_sentence(by_key)]
    findings = []
    if any(told):
        sentence = sentences([*told, _agreement(found), _costs(by_key)])
        findings.append(Finding("info", "managed_granularity", sentence, fix=_fix(by_key)))
    passes = counted_passes(run)
    findings += [_difference(each, passes) for each in found if each.agreement == "no"]
    if reason := why_not_counted(run):
        sentence = say("granularity.not_counted_timed" if any(told) else "granularity.not_counted")
        findings.append(Finding("info", "migrations_not_counted", sentence, reason))
    lossy = [each.case.note for each in passes if each.case.note]
    if lossy:
        sentence = say("granularity.lost", count=len(lossy), note=lossy[0])
        findings.append(Finding("warning", "migrations_lost", sentence))
    return findings


def granularity_verdict(run: Run) -> str:
    """What faults move, in sentences; empty where no unit is known."""
    return sentences(_unit_sentences({each.key: each for each in mechanisms(run)}))


def unit_words(unit: Unit) -> str:
    """``64 KiB``, ``more than 2 MiB``, ``at least 4 MiB``, a range where there is a gap, or ``cannot tell``."""
    if unit.bytes is None:
        return say("granularity.unit_unknown")
    size = format_bytes(unit.bytes)
    if unit.beyond:
        return say("granularity.unit_at_least" if unit.reached else "granularity.unit_more_than", size=size)
    if unit.more_than:
        return say("granularity.unit_between", low=format_bytes(unit.more_than), high=size)
    return size


def _unit_sentences(by_key: Mapping[str, Mechanism]) -> list[str]:
    told = []
    for side in ("device", "host"):
        mechanism = by_key.get(side)
        if mechanism is None or mechanism.unit is None:
            continue
        unit = mechanism.unit
        grown = by_key.get(f"{side}_grown")
        reach = grown.unit if grown else None
        key = f"granularity.fault_{side}"
        if reach is None or not reach.bytes or not unit.bytes:
            told.append(say(key, unit=unit_words(unit)))
        elif reach.bytes > unit.bytes or reach.beyond:
            told.append(say(f"{key}_grown", unit=unit_words(unit), reach=_up_to(reach)))
        else:
            told.append(say(f"{key}_alone", unit=unit_words(unit)))
    return told


def _up_to(reach: Unit) -> str:
    text = unit_words(reach)
    return text if reach.beyond or reach.more_than else say("granularity.reach_up_to", size=text)


def _prefetch_sentence(by_key: Mapping[str, Mechanism]) -> str:
    ways = [
        say(f"granularity.prefetch_{direction}", unit=unit_words(mechanism.unit))
        for direction in ("h2d", "d2h")
        if (mechanism := by_key.get(f"prefetch_{direction}")) and mechanism.unit
    ]
    return say("granularity.prefetch", ways=enumerated(ways)) if ways else ""


def _agreement(found: Sequence[Mechanism]) -> str:
    compared = [each for each in found if each.agreement != "cannot tell"]
    if not compared:
        return ""
    differ = [each.name for each in compared if each.agreement == "no"]
    if differ:
        return say("granularity.differ", mechanisms=enumerated(differ))
    if len(compared) == len(found):
        return say("granularity.agree_all")
    return say("granularity.agree", mechanisms=enumerated([each.name for each in compared]))


def _costs(by_key: Mapping[str, Mechanism]) -> str:
    costs = [
        say(
            f"granularity.cost_{side}",
            waiting=format_seconds(mechanism.waiting.median),
            there=format_seconds(mechanism.there.median),
        )
        for side in ("device", "host")
        if (mechanism := by_key.get(side)) and mechanism.waiting and mechanism.there
    ]
    return say("granularity.costs", costs=enumerated(costs)) if costs else ""


def _fix(by_key: Mapping[str, Mechanism]) -> str:
    mechanism = by_key.get("device")
    unit = mechanism.unit if mechanism and mechanism.waiting else None
    if unit is None or not unit.bytes or unit.beyond:
        return ""
    return say("granularity.fix", size=format_bytes(unit.bytes))


def _difference(mechanism: Mechanism, passes: Sequence[Counted]) -> Finding:
    counted, timed = mechanism.counted, mechanism.timed
    assert counted is not None
    assert timed is not None
    differs = say("granularity.differs", mechanism=mechanism.name, counted=unit_words(counted), timed=unit_words(timed))
    is_more = (counted.bytes or 0) > (timed.bytes or 0)
    cause = say("granularity.more_moved" if is_more else "granularity.less_moved")
    return Finding("info", "granularity_differs", sentences([differs, _reported(mechanism, passes)]), cause)


def _reported(mechanism: Mechanism, passes: Sequence[Counted]) -> str:
    """What the reports of the mechanism's passes hold: sizes, and the share that the driver added of its own accord."""
    side, _, rest = mechanism.key.partition("_")
    if side == "prefetch":
        chosen = [each for each in passes if each.case.method == "counted_prefetch" and each.case.direction == rest]
    else:
        chosen = [each for each in passes if each.case.method.startswith(f"counted_{side}_")]
    chosen = [each for each in chosen if each.is_far_apart != (rest == "grown")] or chosen
    if not chosen or not chosen[0].sizes:
        return say("granularity.reported_nothing")
    first = chosen[0]
    sizes = spanned(format_bytes(min(first.sizes)), format_bytes(max(first.sizes)))
    count, share = sum(first.sizes.values()), first.share("prefetch")
    if share > _WORTH_SAYING:
        return say("granularity.reported_prefetched", count=count, sizes=sizes, percent=100 * share)
    return say("granularity.reported", count=count, sizes=sizes)
