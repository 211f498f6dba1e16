"""Advice as it is shown: verdict, findings with their prices and places, what could not be judged, JSON."""

import io
from dataclasses import replace

import pytest

from isthmus.advice import Abstention, Advice, Steps
from isthmus.record import Interval
from isthmus.report import write
from isthmus.report.advice import advice_document
from isthmus.trace import Maker
from tests.made_traces import empty_trace, made_advice, made_trace


def written(advice: Advice, format_name: str, snippet: str | None = None, *, everything: bool = True) -> str:
    out = io.StringIO()
    write(advice_document(advice, [made_trace()], snippet, everything=everything), format_name, out)
    return out.getvalue()


def test_the_first_screen_has_three_findings_with_place_and_a_few_lines() -> None:
    advice = made_advice()
    many = [replace(advice.findings[0], title=f"Number {number}", lines="waits") for number in range(5)]
    text = written(replace(advice, findings=tuple(many)), "terminal", everything=False)
    assert len(text.splitlines()) <= 40
    assert [f"Number {number}" in text for number in range(5)] == [True, True, True, False, False]
    assert "2 more: --all." in text
    assert text.count("train.py:42 step: 20.0 ms.") == 3
    assert "cudaEventRecord" in text
    assert "cudaHostAlloc" not in text
    assert "Not judged: duplicate. --all says why." in text
    # A page and a file for humans have all of it.
    assert "cudaHostAlloc" in written(replace(advice, findings=tuple(many)), "markdown", everything=False)


def test_the_first_screen_has_the_lines_of_the_program_s_library() -> None:
    finding = replace(made_advice().findings[0], lines="waits")
    out = io.StringIO()
    trace = replace(made_trace(), maker="kineto", sites=())
    write(advice_document(replace(made_advice(), findings=(finding,)), [trace]), "terminal", out)
    assert "seen.copy_(loss, non_blocking=True)" in out.getvalue()


def test_a_python_program_of_opencl_gets_code_of_opencl() -> None:
    finding = replace(made_advice().findings[0], lines="waits")
    trace = made_trace()
    trace = replace(trace, names=tuple(name.replace("cuda", "clEnqueue") for name in trace.names))
    out = io.StringIO()
    write(advice_document(replace(made_advice(), findings=(finding,)), [trace]), "terminal", out)
    assert any(".py:" in frame for site in trace.sites for frame in site)
    assert "clEnqueue" in out.getvalue().partition("train.py")[2]
    assert "cuda" not in out.getvalue()


@pytest.mark.parametrize(
    ("maker", "sites", "shown"),
    [
        ("kineto", (), "pin_memory"),
        ("isthmus", (("loop.py:3 step", "site-packages/torch/_tensor.py:9 to"),), "pin_memory"),
        # A folder may be called as a library, and another library may lie in it.
        ("isthmus", (("/opt/torch/lib/python3/site-packages/cupy/_core.py:3 get", "loop.py:3 step"),), "cudaHostAlloc"),
        ("isthmus", (("/opt/torch/train+0x10 main",),), "cudaHostAlloc"),
        # What most calls came by.
        (
            "isthmus",
            (("jax/lax.py:3 f", "loop.py:3 step"), ("torch/nn.py:3 f", "a.py:3 b"), ("torch/nn.py:4 g", "a.py:4 b")),
            "pin_memory",
        ),
        ("isthmus", (("app+0x10 main",),), "cudaHostAlloc"),
        ("nsys", (), "cudaHostAlloc"),
    ],
)
def test_a_terminal_gets_the_code_of_the_program_s_language(
    maker: Maker, sites: tuple[tuple[str, ...], ...], shown: str
) -> None:
    out = io.StringIO()
    trace = replace(made_trace(), maker=maker, sites=sites)
    write(advice_document(made_advice(), [trace], everything=True), "terminal", out)
    assert [word for word in ("pin_memory", "cudaHostAlloc") if word in out.getvalue()] == [shown]


@pytest.mark.parametrize(("low", "shown"), [(3e-6, "0"), (4.2e-3, "0.004"), (0.0, "0"), (0.0123, "0.0123")])
def test_no_end_of_an_interval_is_a_power_of_ten(low: float, shown: str) -> None:
    gain = Interval(1.5, low, 2.5)
    finding = replace(made_advice().findings[0], gain_seconds=gain)
    advice = replace(made_advice(), findings=(finding,), span_seconds=5.0, gain_seconds=gain)
    text = written(advice, "terminal")
    assert f"95 %: {shown} to 2.5" in text
    assert "e-" not in "".join(line for line in text.splitlines() if "95 %" in line)


def test_a_headline_of_another_device_begins_with_what_its_own_trace_shows() -> None:
    advice = replace(made_advice(), foreign=("Tesla T4",), priced_on="NVIDIA H200")
    waits = replace(advice.findings[0], by_trace=True)
    both = replace(advice, findings=(waits, *advice.findings), gain_by_trace_seconds=Interval(0.03, 0.02, 0.03))
    text = written(both, "terminal")
    assert 0 < text.index("1 change saves 30 of 100 ms") < text.index("On NVIDIA H200, 1 change would save 16.0 ms")
    # Nobody changes a program for what is little on either machine.
    notes = replace(advice, findings=tuple(replace(each, level="note") for each in advice.findings))
    little = " ".join(written(notes, "terminal").split())
    assert "Hardly worth a change: 16.0 ms (95 %:" in little
    assert "to save on NVIDIA H200, of 100 ms traced." in little
    of_trace = replace(notes, gain_seconds=None, gain_by_trace_seconds=Interval(1e-5, 0.0, 1e-5))
    assert "Hardly worth a change: up to 10.0 us of 100 ms" in written(of_trace, "terminal")


@pytest.mark.parametrize(
    ("foreign", "shown"), [((), "1 change may save up to 30 of 100 ms (30.0 %)."), (("Tesla T4",), "up to 30.0 ms.")]
)
def test_a_headline_promises_no_gain_that_may_be_none(foreign: tuple[str, ...], shown: str) -> None:
    gain = Interval(0.01, 0.0, 0.03)
    findings = (replace(made_advice().findings[0], gain_seconds=gain),)
    advice = replace(made_advice(), findings=findings, gain_seconds=gain, foreign=foreign, priced_on="NVIDIA H200")
    assert shown in " ".join(written(advice, "terminal").split())


def test_code_in_a_language_without_some_is_shown_in_another_and_said_so() -> None:
    finding = replace(made_advice().findings[0], snippets={"cuda": "other()", "isthmus": "isthmus.copy(a, b)"})
    out = io.StringIO()
    write(advice_document(replace(made_advice(), findings=(finding,)), [made_trace()], "torch"), "terminal", out)
    assert "With isthmus, as there is no code with torch:" in out.getvalue()
    assert "isthmus.copy(a, b)" in out.getvalue()
    assert "other()" not in out.getvalue()
    finding = replace(finding, snippets={"cuda": "other()"})
    write(advice_document(replace(made_advice(), findings=(finding,)), [made_trace()], "torch"), "terminal", out)
    assert "--snippet shows it with cuda." in out.getvalue()


def test_a_step_that_stays_as_long_is_shown_once() -> None:
    gain = Interval(1e-6, 0.0, 1e-6)
    advice = replace(made_advice(), steps=Steps(6, 0.11, 0.0, 0.66, gain))
    assert "A step: 110 ms (6 of them)." in written(advice, "terminal")


@pytest.mark.parametrize(
    ("kernels", "judged", "expected"),
    [
        (True, True, "Nothing here is worth changing: no copy was recorded"),
        (True, False, "Nothing to judge"),
        (False, True, "Nothing to judge"),
    ],
)
def test_a_trace_without_copies_is_all_right_where_waits_were_judged(
    kernels: bool, judged: bool, expected: str
) -> None:
    trace = replace(empty_trace(), kernels=made_trace().kernels) if kernels else empty_trace()
    abstained = () if judged else (Abstention("waits", "no calls were recorded"),)
    advice = replace(made_advice(), findings=(), gain_seconds=None, abstentions=abstained)
    out = io.StringIO()
    write(advice_document(advice, [trace]), "terminal", out)
    assert expected in " ".join(out.getvalue().split())
