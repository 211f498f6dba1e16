"""Conditions under which a comparison fails a build: `--fail-if slower:5%`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from isthmus.compare.verdicts import CaseResult
from isthmus.errors import UsageError

_GATE = re.compile(r"\s*(slower|faster|different)\s*:\s*(\d+(?:\.\d+)?)\s*%\s*")


@dataclass(frozen=True)
class Gate:
    """Fails for any case that is certainly slower, faster or either by at least `share` of the base's time."""

    kind: Literal["slower", "faster", "different"]
    share: float

    def __str__(self) -> str:
        return f"{self.kind}:{100 * self.share:g}%"


@dataclass(frozen=True)
class GateResult:
    """A gate and the cases that it names, the largest certain difference first; it holds when there are none.

    `blind` counts the cases that could not have shown so small a difference even together with those like them,
    `blind_alone` those that could not have shown it without them: what the gate does not guard.
    """

    gate: Gate
    named: tuple[CaseResult, ...]
    blind: int
    blind_alone: int

    @property
    def holds(self) -> bool:
        """Whether no case fails it."""
        return not self.named


def parse_gate(text: str) -> Gate:
    """The gate in a text such as ``slower:5%``.

    Raises UsageError for anything else.
    """
    match = _GATE.fullmatch(text)
    if match is None:
        raise UsageError(f"not a gate: {text!r}; expected slower:N%, faster:N% or different:N%, such as slower:5%")
    share = float(match[2]) / 100
    if match[1] != "slower" and share >= 1:
        raise UsageError(f"not a gate: {text!r}; nothing takes less time by 100 % or more")
    return Gate(match[1], share)  # type: ignore[arg-type]  # One of the three that the pattern allows.


def checked(gates: Sequence[Gate], cases: Sequence[CaseResult]) -> list[GateResult]:
    """Each gate with the cases whose verdict is certain and whose ratio reaches it.

    10 % faster takes 0.9 of the base's time, 10 % slower 1.1 of it.
    """
    results = []
    for gate in gates:
        named = [
            case
            for case in cases
            if (gate.kind != "faster" and case.verdict == "slower" and case.ratio.median >= 1 + gate.share)
            or (gate.kind != "slower" and case.verdict == "faster" and case.ratio.median <= 1 - gate.share)
        ]
        named.sort(key=lambda case: -case.least_change)
        # The same distance in logarithms: 5 % faster is as far from 1 as 5.3 % slower.
        reach = 1 / (1 - gate.share) - 1 if gate.kind == "faster" else gate.share
        blind = sum(case.detectable > reach for case in cases)
        blind_alone = sum(case.detectable_alone > reach for case in cases)
        results.append(GateResult(gate, tuple(named), blind, blind_alone))
    return results
