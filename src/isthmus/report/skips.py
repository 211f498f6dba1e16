"""Skipped cases grouped by their reason: one line for each reason, and not one for each size."""

from collections.abc import Iterable
from dataclasses import dataclass

from isthmus.record import Case, Run, format_bytes
from isthmus.report.labels import DIRECTIONS, kind_rank

__all__ = ["SkipGroup", "skip_groups"]


@dataclass(frozen=True)
class SkipGroup:
    """The cases that one reason kept from being measured, in words."""

    reason: str
    what: str
    cases: str


def skip_groups(run: Run) -> list[SkipGroup]:
    """One group for each reason, the largest first."""
    by_reason: dict[str, list[Case]] = {}
    for case in run.cases:
        if case.skipped:
            by_reason.setdefault(case.note or "no reason given", []).append(case)
    return [
        SkipGroup(reason, _what(cases), "1 case" if len(cases) == 1 else f"{len(cases)} cases")
        for reason, cases in sorted(by_reason.items(), key=lambda item: -len(item[1]))
    ]


def _what(cases: list[Case]) -> str:
    """``pageable_huge, managed: H2D, D2H; 2 MiB to 1 GiB``, or with methods where the experiment is not bandwidth."""
    kinds = ", ".join(
        sorted({case.host_memory or case.experiment for case in cases}, key=lambda kind: (kind_rank(kind), kind))
    )
    methods = dict.fromkeys(case.method.replace("_", " ") for case in cases if case.experiment != "bandwidth")
    ways = [way.upper() if way != "both" else "both" for way in DIRECTIONS if _has(cases, way)]
    done = ", ".join([*methods, *ways])
    return f"{kinds}: {'; '.join(filter(None, (done, _span(cases))))}"


def _span(cases: list[Case]) -> str:
    sizes = sorted({case.bytes for case in cases})
    if len(sizes) > 1:
        return f"{format_bytes(sizes[0])} to {format_bytes(sizes[-1])}"
    return format_bytes(sizes[0]) if sizes[0] else ""


def _has(cases: Iterable[Case], direction: str) -> bool:
    return any(case.direction == direction for case in cases)
