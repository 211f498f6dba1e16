"""Whatever a trace holds: no crash, no gain below nothing, and none beyond the time that there was."""

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isthmus.advice import Advice, advise
from isthmus.record import Run
from isthmus.trace import Allocations, Calls, Copies, Faults, Intervals, Process, Trace, Windows
from tests.synthetic.traces import Program

KNOWLEDGE = (
    *("calls", "kernels", "synchronizations", "migrations", "faults"),
    *("addresses", "allocations", "call_sites", "contents"),
)
NAMES = ("cudaMemcpy", "cudaMemcpyAsync", "cudaHostAlloc", "cudaFreeHost", "cudaStreamSynchronize", "")
SITES = ((), ("train.py:42 step", "libapp.so+0x1f40"))
# What a column may hold beside times; indices may lead nowhere, as nothing checks a file's own.
_SMALL = st.integers(-2, 6)
_SIZES = st.one_of(st.sampled_from([-1, 0, 1, 64, 4096, 1 << 20, 64 << 20]), st.integers(-1, 1 << 48))
_TIMES = st.one_of(st.integers(0, 10**7), st.integers(-(10**18), 10**18))


@st.composite
def tables(draw: st.DrawFn, table: type, most: int) -> Any:
    """A table of arbitrary records; a third of the draws has many alike in a row, as loops do."""
    count = draw(st.integers(0, most))
    step = draw(st.sampled_from([0, 0, 1_000, 5_000_000]))
    columns: dict[str, Any] = {}
    for field in fields(table):
        kind = _TIMES if field.name.endswith("_ns") else _SIZES if field.name == "bytes" else _SMALL
        one = draw(kind)
        columns[field.name] = [one] * count if step else draw(st.lists(kind, min_size=count, max_size=count))
    made = {name: np.array(column, np.int64) for name, column in columns.items()}
    if step:
        made["start_ns"] = made["start_ns"] + step * np.arange(count)
        made["end_ns"] = made["start_ns"] + draw(st.integers(0, 2 * step))
    return table(**made)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    return Trace(
        path=Path("any"),
        maker=draw(st.sampled_from(["isthmus", "nsys", "kineto"])),
        version="",
        processes=(Process(1), Process(2)),
        devices=draw(st.sampled_from([{}, {0: "NVIDIA H200"}])),
        names=NAMES,
        copies=draw(tables(Copies, 40)),
        calls=draw(tables(Calls, 40)),
        kernels=draw(tables(Intervals, 10)),
        memsets=draw(tables(Intervals, 3)),
        synchronizations=draw(tables(Intervals, 3)),
        knows=frozenset(draw(st.sets(st.sampled_from(KNOWLEDGE)))),
        allocations=draw(tables(Allocations, 10)),
        faults=draw(tables(Faults, 3)),
        sites=SITES,
        windows=draw(st.one_of(st.just(Windows.empty()), tables(Windows, 30))),
    )


@pytest.fixture(scope="module")
def advised(run: Run) -> Callable[[list[Trace]], Advice]:
    """Advice by the rates of the run, which is too large to be shown with each failure."""
    return lambda made: advise(made, run)


@pytest.mark.thorough
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(made=st.lists(traces(), min_size=1, max_size=2))
def test_any_trace(advised: Callable[[list[Trace]], Advice], made: list[Trace]) -> None:
    advice = advised(made)
    assert advice.span_seconds >= 0
    gains = [finding.gain_seconds for finding in advice.findings if finding.gain_seconds]
    for gain in (*gains, *([advice.gain_seconds] if advice.gain_seconds else [])):
        assert 0 <= gain.low <= gain.median <= gain.high <= advice.span_seconds * (1 + 1e-9)
    order = [finding.level for finding in advice.findings]
    assert order == sorted(order)
    for finding in advice.findings:
        assert finding.calls >= 0
        assert finding.bytes >= 0
        assert all(np.isfinite(each.seconds) for each in finding.evidence)


def test_an_index_that_leads_nowhere(advised: Callable[[list[Trace]], Advice]) -> None:
    """Of a call, where there are fewer, or none."""
    program = Program()
    for _ in range(20):
        program.copy(64 << 20, 5e-3, kind="pageable")
    whole = program.trace()
    lost = replace(whole, copies=replace(whole.copies, call=whole.copies.call + 10))
    for trace in (lost, replace(lost, calls=Calls.empty())):
        assert "pageable" in {finding.rule for finding in advised([trace]).findings}


def test_a_clock_that_goes_back(advised: Callable[[list[Trace]], Advice]) -> None:
    program = Program()
    program.copy(64 << 20, 5e-3, kind="pageable")
    trace = program.trace({"kernels"})
    backwards = replace(trace, copies=replace(trace.copies, start_ns=trace.copies.end_ns, end_ns=trace.copies.start_ns))
    advice = advised([backwards])
    assert (advice.span_seconds, advice.gain_seconds) == (0.0, None)
