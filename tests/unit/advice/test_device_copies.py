"""Loops of small copies within a device: priced from the first call to the last, less one launch."""

from typing import Any

import pytest

from isthmus.advice import Advice, Finding, advise
from isthmus.record import KIB, MIB, Run
from isthmus.trace import Trace
from tests.synthetic.traces import Program

LOOPS, COUNT, CALL, PYTHON, KERNEL = 10, 200, 4e-6, 8e-6, 1e-3


def of(advice: Advice) -> Finding | None:
    return next((finding for finding in advice.findings if finding.rule == "device-copies"), None)


def loops(count: int = COUNT, size: int = 16 * KIB, direction: str = "d2d", python: float = PYTHON) -> Trace:
    """Blocks of a cache that are gathered one by one before each step; none with a count of 0."""
    program = Program()
    for _ in range(LOOPS):
        for _ in range(count):
            where: dict[str, Any] = {"direction": direction, "kind": "device", "call": "cudaMemcpyAsync"}
            program.copy(size, CALL + 3e-6, launch=CALL, site="cache.py:9 gather", **where)
            program.own(python)
        program.kernel(KERNEL)
        program.synchronize()
    return program.trace()


def span(trace: Trace) -> float:
    begin, end = trace.span_ns
    return float(end - begin) * 1e-9


@pytest.mark.parametrize("direction", ["d2d", "peer"])
def test_the_gain_is_the_loop_less_one_launch(run: Run, direction: str) -> None:
    broken = loops(direction=direction)
    finding = of(advise([broken], run))
    assert finding
    assert finding.gain_seconds
    assert (finding.level, finding.calls) == ("ATTENTION", LOOPS * COUNT)
    planted = span(broken) - span(loops(count=1))
    assert finding.gain_seconds.median == pytest.approx(planted, rel=0.05)
    # What Python does between the calls may remain.
    assert finding.gain_seconds.low == pytest.approx(planted - LOOPS * COUNT * PYTHON, rel=0.1)
    assert finding.evidence[0].place == "cache.py:9 gather"
    assert "cudaMemcpyBatchAsync" in finding.change


@pytest.mark.parametrize(("count", "size"), [(1, 16 * KIB), (15, 16 * KIB), (COUNT, MIB)])
def test_one_few_or_large_ones_are_none(run: Run, count: int, size: int) -> None:
    assert of(advise([loops(count, size)], run)) is None


def test_a_loop_behind_a_kernel_costs_nothing(run: Run) -> None:
    """The device is busy while the host is at its calls."""
    program = Program()
    for _ in range(LOOPS):
        program.kernel(20e-3, stream=1)
        for _ in range(COUNT):
            program.copy(4096, CALL + 3e-6, launch=CALL, direction="d2d", kind="device", call="cudaMemcpyAsync")
        program.synchronize()
    assert of(advise([program.trace()], run)) is None
