"""What became of advice that was followed: two traces of one program, before and after."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from isthmus.advice import Advice, Finding
from isthmus.document.document import Answer, Block, Bullets, Item
from isthmus.language import say
from isthmus.record import format_seconds


class _Fate(NamedTuple):
    """One rule's finding before and now, of which one may be missing."""

    rule: str
    before: Finding | None
    after: Finding | None

    @property
    def kind(self) -> str:
        if self.after is None:
            return "done"
        return "left" if self.before is not None else "new"


def change_blocks(before: Advice, after: Advice) -> Iterator[Block]:
    """What the program takes now, by steps where both traces have such, and what became of each finding."""
    was, now = _taken(before, after)
    words = {"before": format_seconds(was), "after": format_seconds(now)}
    what = "advice_report.change_step" if before.steps and after.steps else "advice_report.change_trace"
    yield Answer((say(what, share=f"{100 * (now / was - 1):+.0f} %" if was else "-", **words),))
    if fates := _fates(before, after):
        yield Bullets(tuple(Item(_line(fate)) for fate in fates))


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
    by_rule = [{each.rule: each for each in advice.findings if each.gain_seconds} for advice in (before, after)]
    fates = [_Fate(rule, *(each.get(rule) for each in by_rule)) for rule in {**by_rule[0], **by_rule[1]}]
    order = ("done", "left", "new")
    return sorted(fates, key=lambda fate: (order.index(fate.kind), -max(_gain(fate.before), _gain(fate.after))))


def _gain(finding: Finding | None) -> float:
    return finding.gain_seconds.median if finding and finding.gain_seconds else 0.0


def _line(fate: _Fate) -> str:
    finding = fate.after or fate.before
    assert finding
    words = {"before": format_seconds(_gain(fate.before)), "after": format_seconds(_gain(fate.after))}
    return say(f"advice_report.change_{fate.kind}", title=finding.title, **words)
