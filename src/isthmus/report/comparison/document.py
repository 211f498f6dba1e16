"""The document of a comparison, or of a check against a reference: the answer, what supports it, causes and method.

As plain data for scripts, keys and verdicts never change with the language, sentences do.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from isthmus.compare import VERDICTS, CaseResult, Cause, Checkup, Comparison, Verdict
from isthmus.document.document import Answer, Block, Bullets, Charts, Data, Document, Heading, Item, Prose
from isthmus.language import say
from isthmus.record import PARAMETERS, Case, Interval, Run
from isthmus.report.comparison.checkup import check_left_out, check_runs, check_tables, check_verdict
from isthmus.report.comparison.tables import full_tables, legend, ratio_charts, short_tables
from isthmus.report.comparison.words import cause_sentences, gate_sentences, left_out, runs, verdict_sentences

# By the names that scripts know since the first version.
_POSITIONS: dict[Verdict, str] = {"slower": "slow", "same": "right", "faster": "fast"}


def comparison_document(shown: Comparison | Checkup) -> Document:
    """The document in the language spoken now."""
    return _comparison(shown) if isinstance(shown, Comparison) else _checkup(shown)


def _comparison(shown: Comparison) -> Document:
    charts = ratio_charts(shown)
    drawn = (Heading(say("compare.column_ratio"), where="page"), Charts(charts, legend(shown))) if charts else ()
    lists = {
        "compare.gates": gate_sentences(shown),
        "compare.causes": cause_sentences(shown.causes),
        "compare.left_out": left_out(shown),
    }
    blocks = _blocks(
        Answer(tuple(verdict_sentences(shown)), failed=shown.failed),
        runs(shown),
        lists,
        (*drawn, *short_tables(shown), *full_tables(shown)),
        say("compare.method", margin=100 * shown.margin),
    )
    return Document("comparison", say("compare.title"), tuple(blocks), data=Data(lambda: comparison_data(shown)))


def _checkup(shown: Checkup) -> Document:
    blocks = _blocks(
        Answer(tuple(check_verdict(shown)), failed=not shown.right),
        check_runs(shown),
        {"compare.causes": cause_sentences(shown.causes), "compare.left_out": check_left_out(shown)},
        check_tables(shown),
        say("compare.check_method", count=shown.reference.runs),
    )
    return Document("comparison", say("compare.title"), tuple(blocks), data=Data(lambda: checkup_data(shown)))


def _blocks(
    answer: Answer, subjects: Sequence[str], lists: Mapping[str, Sequence[str]], tables: Iterable[Block], method: str
) -> Iterator[Block]:
    """The answer first, what supports it below; a terminal, whose end one sees, has the answer last."""
    listed: list[Block] = []
    for title, lines in lists.items():
        if lines:
            listed += [Heading(say(title)), Bullets(tuple(map(Item, lines)))]
    yield replace(answer, where="long")
    yield Bullets(tuple(map(Item, subjects)))
    yield from (replace(block, where="long") for block in listed)
    yield from tables
    yield Prose(method, "small", where="long")
    yield from (replace(block, where="terminal") for block in listed)
    yield replace(answer, title=say("page.verdict"), where="terminal")


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """Verdicts, figures, differences of the machines, gates and what was left out."""
    pairing, judgement = comparison.pairing, comparison.judgement
    return {
        "format": "isthmus.comparison",
        "schema_version": 1,
        "base": _run(comparison.base),
        "new": _run(comparison.new),
        "margin": comparison.margin,
        "failed": comparison.failed,
        "verdict": verdict_sentences(comparison),
        "counts": {verdict: comparison.counts[verdict] for verdict in VERDICTS},
        "other_device": comparison.other_device,
        "busy_host": comparison.busy_host,
        "gates": [
            {
                "gate": str(result.gate),
                "holds": result.holds,
                "blind": result.blind,
                "blind_alone": result.blind_alone,
                "cases": [_case(case) for case in result.named],
            }
            for result in comparison.gates
        ],
        "differences": _differences(comparison.causes),
        "wholes": [
            {"experiment": whole.experiment, "size": whole.size, "groups": whole.groups}
            | _judged(whole.ratio, whole.verdict, whole.detectable)
            for whole in judgement.wholes
        ],
        "groups": [
            {**group.key._asdict(), "cases": group.cases} | _judged(group.ratio, group.verdict, group.detectable)
            for group in judgement.groups
        ],
        "cases": [_case(case) for case in judgement.cases],
        "left_out": {
            "sentences": left_out(comparison),
            "broken": [_parameters(pair.new) for pair in pairing.broken],
            "wrong": [_parameters(pair.base) for pair in pairing.wrong],
            "now_skipped": [_parameters(pair.new) | {"note": pair.new.note} for pair in pairing.now_skipped],
            "now_measured": [_parameters(pair.new) for pair in pairing.now_measured],
            "untimed": len(pairing.untimed),
            "only_base": [_parameters(case) for case in pairing.only_base],
            "only_new": [_parameters(case) for case in pairing.only_new],
        },
    }


def checkup_data(checkup: Checkup) -> dict[str, Any]:
    """Whether the run looks right, and every figure with its range."""
    return {
        "format": "isthmus.checkup",
        "schema_version": 1,
        "reference": {"name": checkup.reference.name, "runs": checkup.reference.runs} | _run(checkup.reference.run),
        "run": _run(checkup.run),
        "right": checkup.right,
        "verdict": check_verdict(checkup),
        "counts": {position: checkup.counts[verdict] for verdict, position in _POSITIONS.items()},
        "other_device": checkup.other_device,
        "busy_host": checkup.busy_host,
        "differences": _differences(checkup.causes),
        "figures": [
            msgspec.to_builtins(figure.expected) | {"value": figure.value, "position": _POSITIONS[figure.verdict]}
            for figure in checkup.figures
        ],
        "unmeasured": checkup.unmeasured,
    }


def _differences(causes: Sequence[Cause]) -> list[dict[str, Any]]:
    return [{**msgspec.to_builtins(cause.difference), "explains": cause.explains, "of": cause.of} for cause in causes]


def _run(run: Run) -> dict[str, Any]:
    device = run.fingerprint.device
    return {"run": run.run, "created": run.created, "backend": device.backend, "device": device.name}


def _parameters(case: Case) -> dict[str, Any]:
    """The parameters that a case has, by the names of the CSV table."""
    return {name: value for name in PARAMETERS if (value := getattr(case, name)) not in (None, "")}


def _case(case: CaseResult) -> dict[str, Any]:
    return {
        **_parameters(case.pair.base),
        "metric": case.pair.metric,
        "base_seconds": case.base_seconds._asdict(),
        "new_seconds": case.new_seconds._asdict(),
        "base_samples": len(case.pair.base_samples),
        "new_samples": len(case.pair.new_samples),
        "rank_p": case.rank_p,
        "p": case.p,
        "own": case.own,
        "detectable_alone": _finite(case.detectable_alone),
    } | _judged(case.ratio, case.verdict, case.detectable)


def _judged(ratio: Interval, verdict: str, detectable: float) -> dict[str, Any]:
    return {"ratio": ratio._asdict(), "detectable": _finite(detectable), "verdict": verdict}


def _finite(value: float) -> float | None:
    """None for infinity, which JSON does not have."""
    return value if math.isfinite(value) else None
