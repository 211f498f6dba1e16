"""What became of advice that was followed: two traces of one program, before and after."""

from collections.abc import Iterator, Mapping, Set
from typing import Any, NamedTuple

from isthmus.advice import Advice, Finding
from isthmus.document.document import Answer, Block, Bullets, Item
from isthmus.language import enumerated, say
from isthmus.record import format_seconds

_KINDS = ("done", "left", "moved", "not_judged", "new")


class _Fate(NamedTuple):
    """One rule's finding before and now, of which one may be missing, and what became of it: one of `_KINDS`."""

    kind: str
    rule: str
    before: Finding | None
    after: Finding | None
    # The rule that speaks of the same copies now.
    by: str = ""


def change_blocks(before: Advice, after: Advice) -> Iterator[Block]:
    """What the program takes now, by steps where both traces have such, and what became of each finding."""
    yield Answer(tuple(_taken_words(before, after)))
    if fates := _fates(before, after):
        yield Bullets(tuple(Item(_line(fate)) for fate in fates))


def _taken_words(before: Advice, after: Advice) -> Iterator[str]:
    """How long the program took and takes, and what else than the changes that may come from."""
    was, now = _taken(before, after)
    if not was or not now:
        yield say("advice_report.change_nothing")
        return
    words = {"before": format_seconds(was), "after": format_seconds(now), "share": f"{100 * (now / was - 1):+.0f} %"}
    if before.steps and after.steps:
        yield say("advice_report.change_step", **words)
    else:
        yield say("advice_report.change_trace", **words)
    devices = [enumerated(each.foreign) or each.priced_on for each in (before, after)]
    if devices[0] != devices[1]:
        yield say("advice_report.change_devices", before=devices[0], after=devices[1])


def change_data(before: Advice, after: Advice) -> Mapping[str, Any]:
    """The same for scripts."""
    was, now = _taken(before, after)
    return {
        "of": "step" if before.steps and after.steps else "trace",
        "before_seconds": was,
        "after_seconds": now,
        "findings": [
            {
                "rule": fate.rule,
                "fate": fate.kind,
                "before_seconds": _gain(fate.before),
                "after_seconds": _gain(fate.after),
            }
            for fate in _fates(before, after)
        ],
    }


def _taken(before: Advice, after: Advice) -> tuple[float, float]:
    if before.steps and after.steps:
        return before.steps.seconds, after.steps.seconds
    return before.span_seconds, after.span_seconds


def _fates(before: Advice, after: Advice) -> list[_Fate]:
    """Each rule that had or has a gain: those done first, then what is left; the largest gains first."""
    was, now = ({each.rule: each for each in advice.findings if each.gain_seconds} for advice in (before, after))
    unjudged = {each.rule for each in after.abstentions}
    new_to_judge = {each.rule for each in before.abstentions} - set(was)
    fates = [_Fate("left" if rule in was else "new", rule, was.get(rule), finding) for rule, finding in now.items()]
    for rule in was.keys() - now.keys():
        finding = was[rule]
        if by := next((each.rule for each in now.values() if _claims(each, finding, new_to_judge)), ""):
            fates.append(_Fate("moved", rule, finding, None, by))
        else:
            # Over what the new trace does not show nothing is reported to be done.
            kind = "not_judged" if after.unseen or rule in unjudged else "done"
            fates.append(_Fate(kind, rule, finding, None))
    return sorted(
        fates, key=lambda fate: (_KINDS.index(fate.kind), -max(_gain(fate.before), _gain(fate.after)), fate.rule)
    )


def _claims(now: Finding, before: Finding, new_to_judge: Set[str]) -> bool:
    """Whether a finding of the new trace speaks of what another rule's did: by its own word, or at the same place.

    Where the earlier trace did not tell enough for its rule, that of another spoke of such copies.
    """
    places = {each.place for each in before.evidence}
    return before.rule in now.also or (
        now.rule in new_to_judge and not places.isdisjoint(each.place for each in now.evidence)
    )


def _gain(finding: Finding | None) -> float:
    return finding.gain_seconds.median if finding and finding.gain_seconds else 0.0


def _line(fate: _Fate) -> str:
    finding = fate.after or fate.before
    assert finding
    words = {"before": format_seconds(_gain(fate.before)), "after": format_seconds(_gain(fate.after))}
    return say(f"advice_report.change_{fate.kind}", title=finding.title, rule=fate.by, **words)
