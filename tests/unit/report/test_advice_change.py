"""Advice on two traces of one program: what was gained, and which findings are done, left and new."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from isthmus.advice import Abstention, Advice, Evidence, Steps, advise
from isthmus.compare import read_reference
from isthmus.record import KIB, Interval
from isthmus.report import write
from isthmus.report.advice import advice_document
from isthmus.trace import Knowledge
from tests.made_traces import made_advice, made_trace
from tests.synthetic.traces import EVERYTHING, Program


def advice(span: float, gains: dict[str, float], step: float | None = None) -> Advice:
    made = made_advice()
    findings = tuple(
        replace(made.findings[0], rule=rule, title=f"The finding {rule}", gain_seconds=Interval(gain, gain, gain))
        for rule, gain in gains.items()
    )
    steps = Steps(10, step, 0.0, 10 * step) if step else None
    return replace(made, findings=findings, span_seconds=span, steps=steps)


def fates(before: Advice, after: Advice) -> dict[str, str]:
    change = json.loads(shown(before, after, "json"))["change"]
    return {each["rule"]: each["fate"] for each in change["findings"]}


def shown(before: Advice, after: Advice, format_name: str) -> str:
    out = io.StringIO()
    write(advice_document(after, [made_trace()], before=before), format_name, out)
    return out.getvalue()


@pytest.mark.parametrize("steps", [True, False])
def test_what_was_gained_comes_first_and_then_what_became_of_each_finding(steps: bool) -> None:
    before = advice(0.8, {"pageable": 0.3, "waits": 0.1, "strided": 0.2}, 0.08 if steps else None)
    after = advice(0.4, {"waits": 0.05, "managed": 0.02}, 0.02 if steps else None)
    lines = [line.strip() for line in shown(before, after, "terminal").splitlines()]
    assert lines[1] == (
        "A step took 80.0 ms before, and takes 20.0 ms now (-75 %)."
        if steps
        else "Whole traces, as not both have steps: 800 ms before, 400 ms now (-50 %), if both did the same work."
    )
    assert lines[2:6] == [
        "Done: The finding pageable; 300 ms were to be saved.",
        "Done: The finding strided; 200 ms were to be saved.",
        "Left: The finding waits; 50.0 ms to save, 100 ms before.",
        "New: The finding managed; 20.0 ms to save.",
    ]


def test_traces_of_different_devices_and_empty_ones_are_not_compared_as_they_are() -> None:
    before, after = advice(0.8, {}, 0.08), advice(0.4, {}, 0.04)
    of_others = replace(before, foreign=("Tesla T4",)), replace(after, foreign=("NVIDIA L4",))
    assert "different devices, Tesla T4 and NVIDIA L4" in " ".join(shown(*of_others, "terminal").split())
    assert "different devices" not in shown(before, after, "terminal")
    nothing = replace(after, span_seconds=0.0, steps=None)
    for pair in ((before, nothing), (nothing, after)):
        first = shown(*pair, "terminal").splitlines()[1]
        assert first.startswith("Nothing to compare")


def test_two_traces_of_one_run_say_how_two_runs_are_compared() -> None:
    out = io.StringIO()
    one, two = (replace(made_trace(), path=Path(name)) for name in ("a.itrace", "b.itrace"))
    write(advice_document(made_advice(), [one, two]), "terminal", out)
    assert "isthmus advise b.itrace --before a.itrace" in " ".join(out.getvalue().split())


UNTOLD = {
    "the rule abstained": {"abstentions": (Abstention("strided", "addresses are not recorded"),)},
    "copies were lost": {"unseen": ("5 records were lost.",)},
}


@pytest.mark.parametrize("untold", UNTOLD.values(), ids=UNTOLD)
def test_what_the_new_trace_does_not_tell_is_not_done(untold: dict[str, Any]) -> None:
    before = advice(0.8, {"strided": 0.2})
    after = replace(advice(0.4, {}), **untold)
    text = shown(before, after, "terminal")
    assert "Done" not in text
    assert "Not judged in the new trace: The finding strided; 200 ms were to be saved." in text
    assert fates(before, after) == {"strided": "not_judged"}
    # What others did not judge does not concern it.
    others = replace(advice(0.4, {}), abstentions=(Abstention("duplicate", "contents are not recorded"),))
    assert fates(before, others) == {"strided": "done"}


def test_what_another_rule_claims_now_is_not_done() -> None:
    before, after = advice(0.8, {"small-copies": 0.2}), advice(0.4, {"strided": 0.3})
    assert fates(before, after) == {"small-copies": "done", "strided": "new"}
    also = replace(after, findings=(replace(after.findings[0], also=frozenset({"small-copies"})),))
    assert fates(before, also) == {"small-copies": "moved", "strided": "new"}
    assert "Left: The finding small-copies; strided now counts these copies." in shown(before, also, "terminal")
    # At the same place, by a rule that had too little to judge.
    unjudged = replace(before, abstentions=(Abstention("strided", "addresses are not recorded"),))
    assert fates(unjudged, after) == {"small-copies": "moved", "strided": "new"}
    elsewhere = replace(after.findings[0], evidence=(Evidence("load.py:7 read", 2, 200, 0.02),))
    assert fates(unjudged, replace(after, findings=(elsewhere,))) == {"small-copies": "done", "strided": "new"}


@pytest.mark.parametrize("knows", [EVERYTHING, EVERYTHING - {"addresses"}])
def test_rows_are_not_done_because_a_profiler_records_no_addresses(knows: frozenset[Knowledge]) -> None:
    run = read_reference("reference:h200-pcie5").run
    program = Program()
    for row in range(400):
        program.copy(KIB, 10e-6, host=0x1000_0000 + row * 64 * KIB, device=0x2000_0000 + row * 64 * KIB)
    program.kernel(1e-3)
    program.synchronize()
    before = advise([program.trace()], run)
    assert "strided" in [each.rule for each in before.findings if each.gain_seconds]
    assert fates(before, advise([program.trace(knows)], run))["strided"] == (
        "left" if knows == EVERYTHING else "not_judged"
    )


def test_scripts_get_the_same() -> None:
    before, after = advice(0.8, {"pageable": 0.3, "waits": 0.1}), advice(0.4, {"waits": 0.05})
    change = json.loads(shown(before, after, "json"))["change"]
    assert (change["of"], change["before_seconds"], change["after_seconds"]) == ("trace", 0.8, 0.4)
    assert [(each["rule"], each["fate"]) for each in change["findings"]] == [("pageable", "done"), ("waits", "left")]


def test_without_an_earlier_trace_nothing_is_compared() -> None:
    out = io.StringIO()
    write(advice_document(advice(0.4, {"waits": 0.1}), [made_trace()]), "json", out)
    assert "change" not in json.loads(out.getvalue())
