"""Gates on the gain of all changes together."""

from dataclasses import replace

import pytest

from isthmus.advice import parse_gain_gate
from isthmus.errors import UsageError
from tests.made_traces import made_advice


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
