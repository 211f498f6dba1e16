"""What a finding may promise, and gates on the gain of all changes together."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from isthmus.advice import advise, parse_gain_gate
from isthmus.advice.rates import Rates
from isthmus.advice.rule import Draft, Rule, Words
from isthmus.advice.scene import Scene
from isthmus.errors import UsageError
from isthmus.record import Run
from tests.made_traces import made_advice
from tests.synthetic.traces import Program


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("gain:16%", True),
        ("gain:16.1%", False),
        (" gain : 5 % ", True),
        ("gain:16ms", True),
        ("gain:16.1ms", False),
        ("gain:100us", True),
        ("gain:1s", False),
    ],
)
def test_a_gate_fails_from_its_limit_on(text: str, fails: bool) -> None:
    """The advice gains 16 ms of 100."""
    assert parse_gain_gate(text).fails(made_advice()) == fails


def test_advice_without_a_price_fails_no_gate() -> None:
    assert not parse_gain_gate("gain:1%").fails(replace(made_advice(), gain_seconds=None))


@pytest.mark.parametrize(
    "text", ["", "gain", "gain:", "gain:-5%", "gain:0%", "gain:101%", "slower:5%", "gain:5", "gain:5 parsecs"]
)
def test_other_texts_are_no_gates(text: str) -> None:
    with pytest.raises(UsageError, match="not a"):
        parse_gain_gate(text)


def test_a_gate_reads_as_it_is_written() -> None:
    assert [str(parse_gain_gate(text)) for text in ("gain:10%", "gain:5ms")] == ["gain:10%", "gain:5.00 ms"]


def test_a_finding_promises_no_more_than_its_kernels_leave(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program()
    for _ in range(20):
        program.kernel(10e-3)
        program.synchronize()
        program.own(5e-3)

    def too_much(scene: Scene, _rates: Rates) -> Draft:
        rows = np.arange(20)
        return Draft("calls", rows, np.full((rows.size, 3), 14e-3), bound=scene.span_seconds)

    rule = Rule("planted", (), too_much, lambda _: Words("A title", "A cause.", "A change."))
    monkeypatch.setattr(import_module("isthmus.advice.advise"), "RULES", (rule,))
    advice = advise([program.trace()], run)
    (finding,) = advice.findings
    assert finding.gain_seconds == advice.gain_seconds
    assert finding.gain_seconds
    assert finding.gain_seconds.high <= advice.span_seconds - 20 * 10e-3 + 1e-9
