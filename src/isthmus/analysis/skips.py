"""Skipped cases grouped by experiment and reason: one line for each, and not one for each size."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from isthmus.analysis.labels import DIRECTIONS
from isthmus.analysis.phrases import direction_word, spanned
from isthmus.document.document import Item
from isthmus.grouping import grouped
from isthmus.language import clauses, enumerated, say
from isthmus.record import Case, Run, format_bytes, kind_rank

# Sizes, threads, devices and directions tell cases apart and not reasons; an error's number, in parentheses, does.
_OF_CASE = re.compile(r"(?<![\w.(-])\d[\d.,]*(?:\s?(?:bytes|B|[KMGT]i?B))?\b|\b(?:h2d|d2h|HtoD|DtoH)\b")
_FEW_METHODS = 3


@dataclass(frozen=True)
class SkipGroup:
    """The cases that one reason kept from being measured, in words.

    `reason` is the run file's own, in English; `varies` where it is the first of several that differ in numbers alone.
    """

    reason: str
    what: str
    cases: str
    varies: bool = False


def skip_groups(run: Run) -> list[SkipGroup]:
    """One group for each experiment and reason, the largest first; only numbers or directions make no other reason."""
    skipped = (case for case in run.cases if case.skipped)
    by_reason = grouped(skipped, lambda case: (case.experiment, _OF_CASE.sub("#", case.note)))
    return [
        SkipGroup(
            cases[0].note,
            _what(run, cases),
            say("common.cases", count=len(cases)),
            len({case.note for case in cases}) > 1,
        )
        for cases in sorted(by_reason.values(), key=lambda cases: -len(cases))
    ]


def skip_counts(run: Run) -> list[tuple[str, int]]:
    """Reasons in the run file's own words, the commonest first; only numbers or directions make no other reason."""
    by_reason = grouped((case.note for case in run.cases if case.skipped), lambda note: _OF_CASE.sub("#", note))
    return sorted(((notes[0], len(notes)) for notes in by_reason.values()), key=lambda each: -each[1])


def skip_item(group: SkipGroup) -> Item:
    """The group as one item of a list, the reason quoted from the run file."""
    text = say("skips.group_varies" if group.varies else "skips.group", what=group.what, cases=group.cases)
    return Item(text, group.reason) if group.reason else Item(f"{text} {say('skips.no_reason')}")


def _what(run: Run, cases: list[Case]) -> str:
    """``pageable_huge, managed: H2D, D2H; 2 MiB to 1 GiB``; of other experiments than bandwidth with their names.

    Of those, what else tells the cases apart is shown where it is not all that the run holds of that experiment.
    """
    experiment = cases[0].experiment
    kinds = sorted({case.host_memory for case in cases if case.host_memory}, key=lambda kind: (kind_rank(kind), kind))
    directions = [direction_word(direction) for direction in DIRECTIONS if _has(cases, direction)]
    comma = say("common.comma")
    if experiment == "bandwidth":
        return _colon(comma.join(kinds), clauses([comma.join(directions), _span(cases)]))
    others = [case for case in run.cases if case.experiment == experiment]
    if places := _places(cases, others):
        return _colon(experiment, enumerated([say(f"skips.place_{place}") for place in places]))
    methods = _partial(cases, others, lambda case: case.method.replace("_", " "))
    if len(methods) > _FEW_METHODS:
        methods = [say("skips.methods", count=len(methods))]
    own = run.fingerprint.device.spec
    devices = _partial(cases, others, lambda case: case.devices)
    details = [
        comma.join([*methods, *directions]),
        _span(cases),
        _threads(_partial(cases, others, lambda case: case.threads)),
        comma.join(say("skips.devices", count=count) for count in devices if count > 1),
        comma.join(name for name in _partial(cases, others, lambda case: case.target) if name != own),
        comma.join(say("strip.node", node=node) for node in _partial(cases, others, lambda case: case.node)),
    ]
    return _colon(comma.join([experiment, *kinds]), clauses(details))


def _colon(subject: str, text: str) -> str:
    return say("skips.with_detail", subject=subject, detail=text) if text else subject


def _places(cases: list[Case], others: list[Case]) -> list[str]:
    """Parts of an experiment that concern places, where the cases are of these alone and no other was measured."""
    parts = dict.fromkeys(_place(case) for case in cases)
    measured = {_place(case) for case in others if not case.skipped}
    return [] if "" in parts or parts.keys() & measured else list(parts)


def _place(case: Case) -> str:
    """What a case that tells of places is for; empty for one of a single device and no node."""
    if case.method == "peer_copy":
        return "peers"
    if case.node is not None:
        return "nodes"
    return "" if case.devices is None else "devices"


_Value = TypeVar("_Value", int, str)


def _partial(cases: list[Case], others: list[Case], of: Callable[[Case], _Value | None]) -> list[_Value]:
    """The values that the cases have of something, in order of appearance; none where `others` have no more."""
    values = dict.fromkeys(of(case) for case in cases)
    if values.keys() == {of(case) for case in others}:
        return []
    return [value for value in values if value is not None and value != ""]


def _threads(counts: list[int]) -> str:
    if not counts:
        return ""
    low, high = min(counts), max(counts)
    return say("skips.threads", span=spanned(str(low), str(high)), count=high)


def _span(cases: list[Case]) -> str:
    sizes = sorted({case.bytes for case in cases if case.bytes})
    if len(sizes) > 1:
        return spanned(format_bytes(sizes[0]), format_bytes(sizes[-1]))
    return format_bytes(sizes[0]) if sizes else ""


def _has(cases: Iterable[Case], direction: str) -> bool:
    return any(case.direction == direction for case in cases)
