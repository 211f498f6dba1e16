"""Six programs with a planted problem, and one without: what advice says, and what the fixed versions gain."""

import random
from collections.abc import Sequence
from functools import partial

from finding import Finding, decided, shown
from trace_programs import Advised, Case, Programs, Said, counts_of, miscounted
from transfer_turns import Contender, Turns, take_turns

from isthmus.errors import IsthmusError
from isthmus.record import Interval

# The rule that each program is for.
PLANTED = {
    "pageable_loop": "pageable",
    "small_copies": "small-copies",
    "column_by_column": "strided",
    "no_overlap": "no-overlap",
    "round_trip": "round-trip",
    "managed_thrash": "managed",
}
RIGHT = "right"
RIGHT_BAR = "every copy counted, no finding above information"
# The predicted gain is to be so near to the measured one, in so many of the programs.
NEAR, NEAR_SHARE = 0.25, 5 / 6
GAIN_BAR = f"within {100 * NEAR:g} % of the measured gain in five of six"


def cases() -> dict[str, Case]:
    """A case for each program."""
    planted = {name: Case(_bar(name), partial(measure_problem, name=name), (name, f"{name}_fixed")) for name in PLANTED}
    return {**planted, RIGHT: Case(RIGHT_BAR, measure_right, (RIGHT,))}


def _bar(name: str) -> str:
    return f"every copy counted, `{PLANTED[name]}` first"


def measure_problem(programs: Programs, name: str) -> Finding:
    """The program and its fixed version in turns; then both traced, and advice on the first."""
    finding = Finding(name, _bar(name))
    fixed = f"{name}_fixed"
    said: dict[str, Said] = {}
    finding.turns = take_turns([_contender(programs, each, said) for each in (name, fixed)], 0.0, random.Random(0))
    gain = measured_gain(finding.turns, name, fixed)
    if gain is None:
        # Which it does where its data is wrong.
        finding.why_not = "a program failed"
        return decided(finding, False)
    if said[name].checksum != said[fixed].checksum:
        finding.turns.wrong[fixed] = f"checksum {said[fixed].checksum}, not {said[name].checksum}"
    wrong: list[str] = []
    advised: list[Advised] = []
    try:
        for each in (name, fixed):
            traced, trace = programs.traced(each)
            wrong += miscounted(each, traced, counts_of(trace))
            finding.said[f"{each} traced"] = traced.seconds
            if each == name:
                advised = programs.advised(trace)
    except IsthmusError as error:
        wrong.append(str(error))
    return judged_problem(finding, PLANTED[name], gain, advised, wrong)


def _contender(programs: Programs, name: str, said: dict[str, Said]) -> Contender:
    def once(_: int) -> float:
        said[name] = programs.said(name)
        return said[name].seconds

    # The program itself checks what it computes.
    return Contender(name, once, lambda: "")


def measured_gain(turns: Turns, name: str, fixed: str) -> Interval | None:
    """What the fixed version takes less; None where one of the two did not run."""
    slow, fast = turns.interval(name), turns.interval(fixed)
    if slow is None or fast is None:
        return None
    return Interval(slow.median - fast.median, slow.low - fast.high, slow.high - fast.low)


def judged_problem(
    finding: Finding, planted: str, gain: Interval, advised: Sequence[Advised], wrong: Sequence[str]
) -> Finding:
    """The finding with its verdict on counts and on the first rule; how near the gain is, is judged of all together."""
    first = advised[0] if advised else None
    predicted = first.gain if first else None
    finding.said |= {
        "measured_gain": gain._asdict(),
        "predicted_gain": predicted and predicted._asdict(),
        "rules": [each.rule for each in advised],
        "gains": [each.gain and each.gain._asdict() for each in advised],
    }
    finding.measured = f"gains {_with_ends(gain)}"
    if first and predicted:
        finding.measured += f"; `{first.rule}` predicted {_with_ends(predicted)}"
        if gain.median > 0:
            finding.measured += f", {100 * (predicted.median / gain.median - 1):+.0f} %"
    elif first:
        finding.measured += f"; `{first.rule}` without a gain"
    missed = [*wrong]
    if first is None:
        missed += [] if wrong else ["advice found nothing"]
    elif first.rule != planted:
        missed.append(f"`{first.rule}` came first")
    finding.why_not = "; ".join(missed)
    return decided(finding, not missed)


def _with_ends(gain: Interval) -> str:
    # A version that is not faster gains less than nothing.
    median, low, high = (f"-{shown(-each)}" if each < 0 else shown(each) for each in gain)
    return f"{median} ({low} to {high})"


def judged_gains(findings: Sequence[Finding]) -> Finding | None:
    """Of how many of the programs the gain was predicted well; None where no program was measured."""
    mine = [each for each in findings if each.case in PLANTED]
    return judged_gains_of(mine, Finding("predicted gains", GAIN_BAR, "gains"), NEAR_SHARE)


def judged_gains_of(findings: Sequence[Finding], finding: Finding, share: float) -> Finding | None:
    """The finding with its verdict: whether in such a share of the programs the gain was predicted well."""
    judged = [each for each in findings if "measured_gain" in each.said]
    if not judged:
        return None
    far = [each.case for each in judged if not is_near(each.said["predicted_gain"], each.said["measured_gain"])]
    finding.measured = f"{len(judged) - len(far)} of {len(judged)}"
    finding.why_not = f"not {', '.join(far)}" if far else ""
    return decided(finding, len(judged) - len(far) >= share * len(judged))


def is_near(predicted: dict[str, float] | None, measured: dict[str, float]) -> bool:
    """Whether a predicted gain is within 25 % of the measured one, by their medians."""
    return predicted is not None and abs(predicted["median"] - measured["median"]) <= NEAR * measured["median"]


def measure_right(programs: Programs) -> Finding:
    """The program that does everything right, traced."""
    finding = Finding(RIGHT, RIGHT_BAR)
    wrong: list[str] = []
    advised: list[Advised] = []
    try:
        finding.measured = shown(programs.said(RIGHT).seconds)
        traced, trace = programs.traced(RIGHT)
        wrong += miscounted(RIGHT, traced, counts_of(trace))
        advised = programs.advised(trace)
    except IsthmusError as error:
        wrong.append(str(error))
    return above_information(finding, advised, wrong)


def above_information(finding: Finding, advised: Sequence[Advised], wrong: Sequence[str]) -> Finding:
    """The finding with its verdict on a program that does everything right."""
    above = [each.rule for each in advised if each.severity != "information"]
    finding.said = {"rules": [each.rule for each in advised]}
    finding.measured += f", {len(above)} findings above information"
    finding.why_not = "; ".join([*wrong, *(f"`{rule}`" for rule in above)])
    return decided(finding, not wrong and not above)
