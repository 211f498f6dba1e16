"""A comparison of two runs: what became of their cases, what differs between the machines, and whether gates hold."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.compare.causes import Cause, busy_host, likely_causes
from isthmus.compare.differences import differences
from isthmus.compare.gates import Gate, GateResult, checked
from isthmus.compare.level import Verdict
from isthmus.compare.pairing import Pairing, paired
from isthmus.compare.verdicts import Judgement, judged
from isthmus.errors import UsageError
from isthmus.record import Run

# Up to so much more or less is the same: less than what two runs of one machine differ by in all of an experiment.
MARGIN = 0.03


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
        """Whether the new run gave wrong data where the base did not, or a gate does not hold."""
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
            "isthmus report shows why"
        )
    if gates and not pairing.timed:
        raise UsageError("gates cannot be checked: no common case has times in both runs; isthmus report shows why")
    judgement = judged(pairing.timed, margin)
    found = differences(base, new)
    skipped = [pair.new for pair in pairing.now_skipped]
    return Comparison(
        base=base,
        new=new,
        margin=margin,
        pairing=pairing,
        judgement=judgement,
        causes=tuple(likely_causes(found, judgement.groups, skipped)),
        busy_host=busy_host(base, new, judgement.groups),
        gates=tuple(checked(gates, judgement.cases)),
    )


def _has(run: Run) -> str:
    counts = Counter(case.experiment for case in run.cases)
    held = ", ".join(f"{name} ({count} cases)" for name, count in sorted(counts.items()))
    return f"{run.run} has {held or 'no cases'}"
