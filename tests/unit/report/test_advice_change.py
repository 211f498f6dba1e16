"""Advice on two traces of one program: what was gained, and which findings are done, left and new."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from isthmus.advice import Advice, Steps
from isthmus.record import Interval
from isthmus.report import advice_document, write
from tests.made_traces import made_advice, made_trace


def advice(span: float, gains: dict[str, float], step: float | None = None) -> Advice:
    made = made_advice()
    findings = tuple(
        replace(made.findings[0], rule=rule, title=f"The finding {rule}", gain_seconds=Interval(gain, gain, gain))
        for rule, gain in gains.items()
    )
    steps = Steps(10, step, 0.0, 10 * step) if step else None
    return replace(made, findings=findings, span_seconds=span, steps=steps)


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
        else "It took 800 ms before, and takes 400 ms now (-50 %)."
    )
    assert lines[2:6] == [
        "Done: The finding pageable; 300 ms were to be saved.",
        "Done: The finding strided; 200 ms were to be saved.",
        "Left: The finding waits; 50.0 ms to save, 100 ms before.",
        "New: The finding managed; 20.0 ms to save.",
    ]


def test_scripts_get_the_same() -> None:
    before, after = advice(0.8, {"pageable": 0.3, "waits": 0.1}), advice(0.4, {"waits": 0.05})
    change = json.loads(shown(before, after, "json"))["change"]
    assert (change["of"], change["before_seconds"], change["after_seconds"]) == ("trace", 0.8, 0.4)
    assert [(each["rule"], each["fate"]) for each in change["findings"]] == [("pageable", "done"), ("waits", "left")]


def test_without_an_earlier_trace_nothing_is_compared() -> None:
    out = io.StringIO()
    write(advice_document(advice(0.4, {"waits": 0.1}), [made_trace()]), "json", out)
    assert "change" not in json.loads(out.getvalue())
