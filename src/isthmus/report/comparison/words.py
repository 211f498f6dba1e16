"""What a comparison says: names of cases and groups, ratios, verdict, causes, gates, and what was left out."""

import math
from collections.abc import Sequence
from statistics import median

from isthmus.analysis.labels import is_usual, moved_label
from isthmus.analysis.phrases import describe_device, memory_label
from isthmus.compare import CaseResult, Cause, Comparison, GroupKey, Verdict
from isthmus.document.grid import Cell
from isthmus.language import can_say, capitalised, first_few, in_brackets, say, sentences
from isthmus.record import PARAMETERS, Case, Interval, Run, format_bytes, three_figures

_MOST_NAMES = 3
_CHANGED: tuple[Verdict, ...] = ("slower", "faster")
# Said in front, so that they need no name next to their value.
_PLAIN = {"experiment", "method", "direction", "host_memory", "bytes"}


def case_name(case: Case) -> str:
    """``bandwidth H2D pinned 64 MiB``, and other parameters by the names that they have in the CSV table."""
    words = [case.experiment, _moved(case.experiment, case.method, case.direction or "", case.host_memory)]
    words += [format_bytes(case.bytes)] if case.bytes else []
    words += [
        f"{name}={value}"
        for name in PARAMETERS
        if name not in _PLAIN and (value := getattr(case, name)) not in (None, "")
    ]
    return " ".join(filter(None, words))


def group_name(key: GroupKey) -> str:
    """``bandwidth H2D pinned, from 4 MiB``."""
    words = " ".join(filter(None, (key.experiment, way_memory_name(key))))
    return say("common.comma").join([words, size_name(key.size)])


def way_memory_name(key: GroupKey) -> str:
    """``H2D pinned``: a group where experiment and sizes go without saying."""
    return _moved(key.experiment, key.method, key.direction, key.host_memory)


def _moved(experiment: str, method: str, direction: str, memory: str) -> str:
    """Way and memory as tables of bandwidth name them; the method before them where they do not imply it."""
    way = say("bandwidth_report.glance_both") if direction == "both" else _way(direction)
    if experiment != "bandwidth" or not direction:
        return " ".join(filter(None, (method, way, memory_label(memory))))
    if method == "duplex":
        method, way = "", say("compare.of_both", direction=way)
    if method == "isthmus":
        return f"{way} {moved_label(memory.removesuffix('_isthmus') + '_isthmus')}"
    return " ".join(filter(None, ("" if is_usual(method, memory) else method, way, moved_label(memory))))


def size_name(size: str) -> str:
    """A class of sizes in words."""
    return say(f"compare.size_{size}")


def verdict_name(verdict: Verdict) -> str:
    """A verdict in a table."""
    return say(f"compare.verdict_{verdict}")


def ratio_text(value: float) -> str:
    """Three digits after the point near 1, where they matter, fewer farther away."""
    return f"{value:.3f}" if 0.5 <= value < 2 else three_figures(value)


def ratio_cell(ratio: Interval) -> Cell:
    """A ratio with half of its interval in as many digits."""
    text = ratio_text(ratio.median)
    return Cell(text, f"{(ratio.high - ratio.low) / 2:.{len(text.partition('.')[2])}f}")


def detectable_text(share: float) -> str:
    """``5.2 %``: how much more time would have shown; a dash where none would."""
    if math.isinf(share):
        return "–"  # A dash, as in tables of figures.
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def change_text(result: CaseResult) -> str:
    """A case with its ratio: what a gate names."""
    return f"{case_name(result.pair.base)}{in_brackets(f'{ratio_text(result.ratio.median)}x')}"


def runs(comparison: Comparison) -> list[str]:
    """Which two runs these are."""
    return [
        say("compare.run_base", run=comparison.base.run, **_measured(comparison.base)),
        say("compare.run_new", run=comparison.new.run, **_measured(comparison.new)),
    ]


def verdict_sentences(comparison: Comparison) -> list[str]:
    """The answer first, what it rests on after."""
    parts = []
    if comparison.pairing.broken:
        cases = [pair.new for pair in comparison.pairing.broken]
        parts.append(say("compare.broken", names=first_few(cases, case_name, _MOST_NAMES)))
    parts.append(_answer(comparison))
    if comparison.other_device:
        base, new = describe_device(comparison.base), describe_device(comparison.new)
        parts.append(say("compare.other_device", name=comparison.base.run, expected=base, device=new))
    if comparison.busy_host:
        parts.append(say("compare.busy_host"))
    return parts


def left_out(comparison: Comparison) -> list[str]:
    """Cases that were not compared, and runs that did not end as they should."""
    pairing = comparison.pairing
    parts = []
    for run in (comparison.base, comparison.new):
        status = run.end.status if run.end else "interrupted"
        if status != "complete":
            parts.append(say("compare.interrupted", run=run.run, status=status))
    if pairing.now_skipped:
        cases = [pair.new for pair in pairing.now_skipped]
        reason = cases[0].note or say("skips.no_reason")
        parts.append(say("compare.now_skipped", names=first_few(cases, case_name, _MOST_NAMES), reason=reason))
    for key, pairs in (("compare.wrong", pairing.wrong), ("compare.untimed", pairing.untimed)):
        if pairs:
            parts.append(say(key, count=len(pairs)))
    only_new = [*pairing.only_new, *(pair.new for pair in pairing.now_measured)]
    for key, alone in (("compare.only_base", pairing.only_base), ("compare.only_new", only_new)):
        if alone:
            parts.append(say(key, names=first_few(alone, case_name, _MOST_NAMES)))
    return parts


def cause_sentences(causes: Sequence[Cause]) -> list[str]:
    """The hardware and settings that differ, the best explanation first; that none does where that is so."""
    return [_cause(cause) for cause in causes] or [say("compare.causes_none")]


def _cause(cause: Cause) -> str:
    """A fact that differs, how much it can explain, and what to do about it."""
    difference = cause.difference
    fact = say(
        "compare.cause_explains" if cause.of else "compare.cause",
        name=say(f"compare_causes.name_{difference.topic}"),
        base=difference.base or say("compare.unknown"),
        new=difference.new or say("compare.unknown"),
        explains=cause.explains,
        of=cause.of,
    )
    why = f"compare_causes.why_{difference.topic}"
    return sentences([fact, say(why) if can_say(why) and (cause.explains or not cause.of) else ""])


def gate_sentences(comparison: Comparison) -> list[str]:
    """Each gate, the cases that fail it, and how many it cannot guard."""
    parts = []
    total = len(comparison.judgement.cases)
    for result in comparison.gates:
        if result.holds and result.blind == total:
            parts.append(say("compare.gate_guards_nothing", gate=result.gate))
            continue
        if result.holds:
            answer = say("compare.gate_holds", gate=result.gate)
        else:
            names = first_few(result.named, change_text, _MOST_NAMES)
            answer = say("compare.gate_fails", gate=result.gate, count=len(result.named), total=total, names=names)
        unseen = say("compare.gate_blind", total=total, alone=result.blind_alone, blind=result.blind)
        parts.append(sentences([answer, unseen if result.blind_alone else ""]))
    return parts


def _way(direction: str) -> str:
    return direction.upper() if direction in ("h2d", "d2h") else direction


def _answer(comparison: Comparison) -> str:
    counts, total = comparison.counts, len(comparison.judgement.cases)
    if not total:
        return say("compare.none_timed")
    answers = [
        say(
            "compare.cases_changed",
            verdict=capitalised(verdict_name(verdict)),
            count=counts[verdict],
            total=total,
            factor=_typical(comparison, verdict),
        )
        for verdict in _CHANGED
        if counts[verdict]
    ]
    if not answers and 2 * counts["cannot_tell"] <= total:
        answers = [say("compare.all_same")]
    rest = say("compare.of_all", total=total, same=counts["same"], cannot_tell=counts["cannot_tell"])
    return sentences([*answers, rest, _precision(comparison)])


def _precision(comparison: Comparison) -> str:
    """How large a difference those that are the same could have shown; nothing where nothing is the same."""
    shares = [case.detectable for case in comparison.judgement.cases if case.verdict == "same"]
    if not any(map(math.isfinite, shares)):
        return ""
    return say("compare.precision", typical=detectable_text(median(shares)), worst=detectable_text(max(shares)))


def _typical(comparison: Comparison, verdict: Verdict) -> str:
    ratios = [case.ratio.median for case in comparison.judgement.cases if case.verdict == verdict]
    return ratio_text(median(ratios))


def _measured(run: Run) -> dict[str, str]:
    return {"device": describe_device(run), "created": run.created}
