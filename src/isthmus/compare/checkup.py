"""Whether a run looks about right: its figures beside the ranges of a reference, and the likely causes where not."""

import math
from collections import Counter
from dataclasses import dataclass

from isthmus.compare.causes import Cause, busy_host, differences, likely_causes
from isthmus.compare.levels import Verdict
from isthmus.compare.reference import Expected, Reference, measured
from isthmus.compare.verdicts import GroupResult
from isthmus.errors import UsageError
from isthmus.record import Interval, Run

# Share of the figures of a healthy machine that may be out of their range.
_FEW = 0.05


@dataclass(frozen=True)
class FigureResult:
    """One figure of a run, in the unit of the expected quantity; `same` is its verdict within the range."""

    expected: Expected
    value: float
    verdict: Verdict


@dataclass(frozen=True)
class Checkup:
    """A run held against a reference; `unmeasured` counts figures that the run does not have."""

    reference: Reference
    run: Run
    figures: tuple[FigureResult, ...]
    unmeasured: int
    causes: tuple[Cause, ...]
    busy_host: bool

    @property
    def counts(self) -> Counter[Verdict]:
        """How many figures there are of each verdict."""
        return Counter(figure.verdict for figure in self.figures)

    @property
    def right(self) -> bool:
        """Whether it looks about right: no settled rate is too low, and few of the other figures are too slow."""
        slow = [figure for figure in self.figures if figure.verdict == "slower"]
        rates = any(figure.expected.quantity == "rate" for figure in slow)
        return not rates and len(slow) <= _FEW * len(self.figures)

    @property
    def other_device(self) -> bool:
        """Whether the reference is of another kind of device."""
        base, new = self.reference.run.fingerprint.device, self.run.fingerprint.device
        return (base.backend, base.name) != (new.backend, new.name)


def check(reference: Reference, run: Run) -> Checkup:
    """Hold a run against a reference.

    Raises UsageError when they have no figure in common.
    """
    values = measured(run, reference.run.cases)
    figures = tuple(
        FigureResult(
            expected,
            values[expected.quantity, expected.key],
            _verdict(expected, values[expected.quantity, expected.key]),
        )
        for expected in reference.expected(run)
        if (expected.quantity, expected.key) in values
    )
    if not figures:
        raise UsageError(
            f"nothing to compare: {run.run} has none of the {len(reference.figures)} figures of reference "
            f"{reference.name}; {_has(run)}; isthmus measure gives it the most important ones"
        )
    # One slow figure a group is all that the order of causes needs.
    groups = [
        GroupResult(
            figure.expected.key, 1, Interval(figure.value, figure.value, figure.value), figure.verdict, math.inf
        )
        for figure in figures
    ]
    # What the reference does not know, or what differs from machine to machine, tells nothing.
    differing = [each for each in differences(reference.run, run) if each.base and each.topic not in ("mode", "schema")]
    return Checkup(
        reference=reference,
        run=run,
        figures=figures,
        unmeasured=len(reference.figures) - len(figures),
        causes=tuple(likely_causes(differing, groups)),
        busy_host=busy_host(reference.run, run, groups),
    )


def _verdict(expected: Expected, value: float) -> Verdict:
    if expected.low <= value <= expected.high:
        return "same"
    # Much is good for a rate and bad for a time.
    return "faster" if (value > expected.high) == (expected.quantity == "rate") else "slower"


def _has(run: Run) -> str:
    """What a run without a figure has instead, for an error."""
    if not run.cases:
        return "it has no cases"
    if all(case.skipped for case in run.cases):
        return f"it skipped all of its {len(run.cases)} cases, and isthmus report --all shows why"
    if all(case.skipped or case.verified == "no" for case in run.cases):
        return "the data of all that it measured arrived wrong, and isthmus report --all shows where"
    return f"it has {', '.join(sorted({case.experiment for case in run.cases if not case.skipped}))}"
