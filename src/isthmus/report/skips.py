"""Skipped cases grouped by experiment and reason: one line for each, and not one for each size."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from isthmus.record import Case, Run, format_bytes
from isthmus.report.labels import DIRECTIONS, kind_rank

__all__ = ["SkipGroup", "skip_groups"]

# Sizes, threads, devices and directions tell cases apart and not reasons; an error's number, in parentheses, does.
_OF_CASE = re.compile(r"(?<![\w.(-])\d[\d.,]*(?:\s?(?:bytes|B|[KMGT]i?B))?\b|\b(?:h2d|d2h|HtoD|DtoH)\b")
_FEW_METHODS = 3
_WAYS = {"h2d": "H2D", "d2h": "D2H", "both": "both", "peer": "device to device"}


@dataclass(frozen=True)
class SkipGroup:
    """The cases that one reason kept from being measured, in words."""

    reason: str
    what: str
    cases: str


def skip_groups(run: Run) -> list[SkipGroup]:
    """One group for each experiment and reason, the largest first; only numbers or directions make no other reason."""
    by_reason: dict[tuple[str, str], list[Case]] = {}
    for case in run.cases:
        if case.skipped:
            by_reason.setdefault((case.experiment, _OF_CASE.sub("#", case.note)), []).append(case)
    return [
        SkipGroup(_reason(cases), _what(run, cases), "1 case" if len(cases) == 1 else f"{len(cases)} cases")
        for cases in sorted(by_reason.values(), key=lambda cases: -len(cases))
    ]


def _reason(cases: list[Case]) -> str:
    first = cases[0].note or "no reason given"
    return first if len({case.note for case in cases}) == 1 else f"first: {first}"


def _what(run: Run, cases: list[Case]) -> str:
    """``pageable_huge, managed: H2D, D2H; 2 MiB to 1 GiB``; of other experiments than bandwidth with their names.

    Of those, what else tells the cases apart is said where it is not all that the run holds of that experiment.
    """
    experiment = cases[0].experiment
    kinds = sorted({case.host_memory for case in cases if case.host_memory}, key=lambda kind: (kind_rank(kind), kind))
    ways = [_WAYS[way] for way in DIRECTIONS if _has(cases, way)]
    if experiment == "bandwidth":
        return f"{', '.join(kinds)}: {'; '.join(filter(None, (', '.join(ways), _span(cases))))}"
    others = [case for case in run.cases if case.experiment == experiment]
    if parts := _whole_parts(cases, others):
        return f"{experiment}: {' and '.join(parts)}"
    methods = _partial(cases, others, lambda case: case.method.replace("_", " "))
    if len(methods) > _FEW_METHODS:
        methods = [f"{len(methods)} methods"]
    own = run.fingerprint.device.spec
    threads = _partial(cases, others, lambda case: case.threads)
    details = [
        ", ".join([*methods, *ways]),
        _span(cases),
        _threads(threads),
        ", ".join(f"{count} devices" for count in _partial(cases, others, lambda case: case.devices) if count > 1),
        ", ".join(name for name in _partial(cases, others, lambda case: case.target) if name != own),
        ", ".join(f"NUMA node {node}" for node in _partial(cases, others, lambda case: case.node)),
    ]
    told = "; ".join(filter(None, details))
    return f"{', '.join([experiment, *kinds])}{': ' if told else ''}{told}"


def _whole_parts(cases: list[Case], others: list[Case]) -> list[str]:
    """The parts that concern places, where the cases are of these alone and none of `others` was measured."""
    parts = dict.fromkeys(_part(case) for case in cases)
    measured = {_part(case) for case in others if not case.skipped}
    return [] if "" in parts or parts.keys() & measured else list(parts)


def _part(case: Case) -> str:
    """What a case that tells of places is for; empty for one of a single device and no node."""
    if case.method == "peer_copy":
        return "copies between devices"
    if case.node is not None:
        return "NUMA nodes"
    return "" if case.devices is None else "several devices"


_Value = TypeVar("_Value", int, str)


def _partial(cases: list[Case], others: list[Case], of: Callable[[Case], _Value | None]) -> list[_Value]:
    """The values that the cases have of something, in order of appearance; none where `others` have no more."""
    found = dict.fromkeys(of(case) for case in cases)
    if found.keys() == {of(case) for case in others}:
        return []
    return [value for value in found if value is not None and value != ""]


def _threads(counts: list[int]) -> str:
    if not counts:
        return ""
    low, high = min(counts), max(counts)
    span = str(low) if low == high else f"{low} to {high}"
    return f"{span} thread{'' if high == 1 else 's'}"


def _span(cases: list[Case]) -> str:
    sizes = sorted({case.bytes for case in cases if case.bytes})
    if len(sizes) > 1:
        return f"{format_bytes(sizes[0])} to {format_bytes(sizes[-1])}"
    return format_bytes(sizes[0]) if sizes else ""


def _has(cases: Iterable[Case], direction: str) -> bool:
    return any(case.direction == direction for case in cases)
