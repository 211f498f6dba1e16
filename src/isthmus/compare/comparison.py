"""A comparison of two runs: what became of their cases, what differs between the machines, and whether gates hold."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from isthmus.compare.causes import Cause, busy_host, differences, likely_causes
from isthmus.compare.levels import Verdict
from isthmus.compare.pairing import Pairing, paired
from isthmus.compare.verdicts import CaseResult, Judgement, judged
from isthmus.errors import UsageError
from isthmus.record import Run

_GATE = re.compile(r"\s*(slower|faster|different)\s*:\s*(\d+(?:\.\d+)?)\s*%\s*")
# Up to so much more or less is the same: less than what two runs of one machine differ by in all of an experiment.
MARGIN = 0.03


@dataclass(frozen=True)
class Gate:
    """Fails for any case that is significantly slower, faster or either by at least `share` of the base's time."""

    kind: Literal["slower", "faster", "different"]
    share: float

    def __str__(self) -> str:
        return f"{self.kind}:{100 * self.share:g}%"


@dataclass(frozen=True)
class GateResult:
    """A gate and the cases that it names, the largest significant difference first; it holds when there are none.

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
    """Each gate with the cases whose verdict is significant and whose ratio reaches it.

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


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side; ratios are times of the new run over those of the base.

    `margin` is the share up to which times count as the same. `busy_host` tells that what got slower looks like a host
    that others keep busy.
    """

    base: Run
    new: Run
    margin: float
    pairing: Pairing
    judgement: Judgement
    causes: tuple[Cause, ...]
    busy_host: bool
    gates: tuple[GateResult, ...] = ()

    @property
    def counts(self) -> Counter[Verdict]:
        """How many cases there are of each verdict."""
        return Counter(case.verdict for case in self.judgement.cases)

    @property
    def other_device(self) -> bool:
        """Whether the devices are of different kinds, or reached through different backends."""
        base, new = self.base.fingerprint.device, self.new.fingerprint.device
        return (base.backend, base.name) != (new.backend, new.name)

    @property
    def failed(self) -> bool:
        """Whether the new run had wrong data where the base did not, or a gate does not hold."""
        return bool(self.pairing.broken) or any(not gate.holds for gate in self.gates)


def compare(base: Run, new: Run, *, margin: float = MARGIN, gates: Sequence[Gate] = ()) -> Comparison:
    """Compare all cases that both runs have.

    Raises UsageError when there is nothing to compare: no common case, or none that became measured, skipped or wrong.
    """
    pairing = paired(base, new)
    if not pairing.common:
        raise UsageError(f"nothing to compare: the runs have no case in common; {_has(base)}; {_has(new)}")
    if not (pairing.timed or pairing.broken or pairing.wrong or pairing.now_skipped or pairing.now_measured):
        raise UsageError(
            f"nothing to compare: none of the {pairing.common} common cases has times in both runs: all were skipped; "
            "isthmus report --all shows why"
        )
    if gates and not pairing.timed:
        raise UsageError(
            "gates cannot be checked: no common case has times in both runs; isthmus report --all shows why"
        )
    judgement = judged(pairing.timed, margin)
    differing = differences(base, new)
    skipped = [pair.new for pair in pairing.now_skipped]
    return Comparison(
        base=base,
        new=new,
        margin=margin,
        pairing=pairing,
        judgement=judgement,
        causes=tuple(likely_causes(differing, judgement.groups, skipped)),
        busy_host=busy_host(base, new, judgement.groups),
        gates=tuple(checked(gates, judgement.cases)),
    )


def _has(run: Run) -> str:
    counts = Counter(case.experiment for case in run.cases)
    held = ", ".join(f"{name} ({count} cases)" for name, count in sorted(counts.items()))
    return f"{run.run} has {held or 'no cases'}"
