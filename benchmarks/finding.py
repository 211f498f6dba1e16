"""What a case of a benchmark found, beside its bar."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from transfer_turns import Turns

from isthmus.errors import IsthmusError
from isthmus.record import format_seconds

_Bench = TypeVar("_Bench")


@dataclass
class Finding:
    """One line of the table: a case, its bar, and what was found."""

    case: str
    bar: str
    # As --only takes it.
    name: str = ""
    # As shown; and whether the bar was met, or None where nothing can be said, with why.
    measured: str = ""
    met: bool | None = None
    why_not: str = ""
    best_peer: str = ""
    turns: Turns = field(default_factory=Turns)
    # Of one run of a contender; 0 where a rate would say nothing.
    bytes: int = 0
    # What is no time: ratios by size, page-locked bytes, seconds of CPU.
    figures: dict[str, float] = field(default_factory=dict)
    # What else the file keeps: what a program or a command said.
    said: dict[str, Any] = field(default_factory=dict)


def measured(name: str, bar: str, measure: Callable[[_Bench], Finding], bench: _Bench) -> Finding:
    """What the case that --only calls by this name found; one that could not be measured says why."""
    try:
        finding = measure(bench)
    except IsthmusError as error:
        finding = Finding(name, bar, why_not=str(error))
    finding.name = name
    return finding


def shown(seconds: float, size: int = 0) -> str:
    """A rate in GB/s where there is a size, else a time."""
    return f"{size / seconds / 1e9:.3g} GB/s" if size else format_seconds(seconds)


def decided(finding: Finding, met: bool, meaningless: str = "") -> Finding:
    """The verdict: data that was wrong misses every bar, and a device whose figures say nothing meets none."""
    if finding.turns.wrong:
        finding.met = False
        finding.why_not = "; ".join(f"{name}: {what}" for name, what in finding.turns.wrong.items())
    elif meaningless:
        finding.why_not = meaningless
    else:
        finding.met = met
    return finding
