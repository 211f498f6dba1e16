"""Programs of OpenCL: the same rules find the same, and speak of its calls instead of CUDA's."""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isthmus.advice import Advice, Finding, advise
from isthmus.advice.rules import RULES
from isthmus.language import LANGUAGES, speaking
from isthmus.record import GIB, KIB, MIB, Run
from isthmus.trace import UNKNOWN, Trace, memory_index
from tests.synthetic.traces import Program

HOST, DEVICE = 0x1000_0000_0000, 0x2000_0000_0000
SIZE = 64 * MIB
# Copies may have one name whether they wait or not: the trace says which did.
NAMES = {
    "cudaMemcpy": "clEnqueueWriteBuffer",
    "cudaMemcpyAsync": "clEnqueueWriteBuffer",
    "cudaLaunchKernel": "clEnqueueNDRangeKernel",
    "cudaDeviceSynchronize": "clFinish",
    "cudaMallocHost": "clCreateBuffer",
    "cudaFreeHost": "clReleaseMemObject",
}
WAITED = {"cudaMemcpy": 1, "cudaMemcpyAsync": 0}


def as_opencl(trace: Trace) -> Trace:
    """What the recorder would have written of a program that does the same by OpenCL."""
    waited = np.array([WAITED.get(name, UNKNOWN) for name in trace.names])
    calls = replace(trace.calls, blocking=waited[trace.calls.name])
    return replace(
        trace,
        names=tuple(NAMES.get(name, name) for name in trace.names),
        calls=calls,
        knows=trace.knows - {"migrations", "faults"},
    )


def found(advice: Advice, rule: str) -> Finding:
    return next(finding for finding in advice.findings if finding.rule == rule)


def gain(advice: Advice, rule: str) -> float:
    interval = next((each.gain_seconds for each in advice.findings if each.rule == rule), None)
    return interval.median if interval else 0.0


@pytest.fixture
def program() -> Trace:
    """A program that does nearly everything wrong."""
    program = Program()
    program.allocate(8 * GIB, 1e-3, HOST)
    for step in range(20):
        program.copy(SIZE, 8e-3, kind="pageable", host=HOST, device=DEVICE, content=1)
        program.copy(SIZE, 5e-3, host=HOST, device=DEVICE)
        program.own(1e-3)
        program.kernel(2e-3)
        program.copy(SIZE, 5e-3, direction="d2h", host=HOST, device=DEVICE, content=1)
        for piece in range(20):
            program.copy(64, 8e-6, host=HOST + piece * piece * 64, device=DEVICE + piece * 64)
            program.copy(4 * KIB, 8e-6, host=HOST + piece * 8 * KIB, device=DEVICE) if step % 2 else None
        for row in range(200):
            program.copy(4 * KIB, 8e-6, host=HOST + row * 8 * KIB, device=DEVICE + row * 4 * KIB)
        program.allocate(SIZE, 1e-3, HOST)
        program.release(HOST, 1e-3)
    for step in range(5):
        other: dict[str, Any] = {"host": HOST + (step + 1) * GIB, "device": DEVICE + GIB}
        program.copy(2 * SIZE, 10e-3, content=2 + step, **other)
        program.kernel(5e-3)
        other["host"] += 64 * GIB
        program.copy(2 * SIZE, 10e-3, direction="d2h", content=9 + step, **other)
    return program.trace()


@pytest.mark.parametrize("language", LANGUAGES)
def test_rates_of_the_other_interface_are_said_to_be(run: Run, program: Trace, language: str) -> None:
    with speaking(language):  # type: ignore[arg-type]
        opencl = advise([as_opencl(program)], run).priced_elsewhere
        assert advise([program], run).priced_elsewhere == ""
    assert "OpenCL" in opencl
    assert "isthmus measure all --device opencl:0" in opencl


@pytest.mark.parametrize(
    "language", [each if each == "en" else pytest.param(each, marks=pytest.mark.thorough) for each in LANGUAGES]
)
def test_no_finding_names_cuda(run: Run, program: Trace, language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opencl = as_opencl(program)
    findings: dict[str, Finding] = {}
    # Each by itself, for one finding alone speaks of a copy.
    for each in RULES:
        monkeypatch.setattr(sys.modules["isthmus.advice.advise"], "RULES", (each,))
        with speaking(language):  # type: ignore[arg-type]
            findings |= {finding.rule: finding for finding in advise([opencl], run).findings}
    monkeypatch.undo()
    expected = {"pageable", "strided", "small-copies", "no-overlap", "synchronous", "duplicate", "round-trip"}
    assert expected | {"unused", "pinned-in-loop", "over-pinned", "slow-copies", "waits"} <= set(findings)
    for finding in findings.values():
        texts = [finding.title, finding.cause, finding.change, finding.pricing, *finding.snippets.values()]
        assert not [text for text in texts if "cuda" in text.lower()], finding.rule
        assert set(finding.snippets) <= {"opencl", "isthmus"}
    for rule in (
        "pageable",
        "strided",
        "small-copies",
        "no-overlap",
        "synchronous",
        "duplicate",
        "round-trip",
        "pinned-in-loop",
    ):
        assert "clEnqueue" in findings[rule].snippets["opencl"]
    with speaking(language):  # type: ignore[arg-type]
        advice = advise([opencl], run)
    assert not [each for each in advice.abstentions if "isthmus trace" in each.why]
    assert [each.why for each in advice.abstentions if each.rule == "managed" and "OpenCL" in each.why]


def test_no_finding_of_a_cuda_program_names_opencl(run: Run, program: Trace) -> None:
    for finding in advise([program], run).findings:
        texts = [finding.cause, finding.change, finding.pricing, *finding.snippets.values()]
        assert not [text for text in texts if "clEnqueue" in text or "CL_MEM" in text or "OpenCL" in text]
        assert "opencl" not in finding.snippets


def test_the_process_that_gains_most_is_spoken_to(run: Run, seconds: Callable[..., float]) -> None:
    traces = []
    for uses in (10, 20):
        program = Program()
        for _ in range(uses):
            program.copy(SIZE, seconds("pageable", "h2d", SIZE), kind="pageable", host=HOST, device=DEVICE)
        traces.append(program.trace())
    few, many = traces
    assert "cudaHostRegister" in found(advise([as_opencl(few), many], run), "pageable").change
    assert "CL_MEM_ALLOC_HOST_PTR" in found(advise([few, as_opencl(many)], run), "pageable").change


def test_memory_is_not_locked_where_it_is(run: Run, seconds: Callable[..., float]) -> None:
    """OpenCL has no call for what is cheapest with CUDA."""
    program = Program()
    for _ in range(20):
        program.copy(SIZE, seconds("pageable", "h2d", SIZE), kind="pageable", host=HOST, device=DEVICE)
    cuda, opencl = (advise([each], run) for each in (program.trace(), as_opencl(program.trace())))
    assert "cudaHostRegister" in found(cuda, "pageable").snippets["cuda"]
    assert "CL_MEM_ALLOC_HOST_PTR" in found(opencl, "pageable").snippets["opencl"]
    assert 0 < gain(opencl, "pageable") <= gain(cuda, "pageable")


def test_a_copy_of_pageable_memory_that_does_not_block_takes_what_the_device_does(run: Run) -> None:
    program = Program()
    for _ in range(20):
        program.copy(SIZE, 5e-3, call="cudaMemcpyAsync", host=HOST, device=DEVICE)
    program.synchronize()
    trace = as_opencl(program.trace())
    pageable = np.full(len(trace.copies), memory_index("pageable"))
    advice = advise([replace(trace, copies=replace(trace.copies, source=pageable))], run)
    on_device = [each.device_seconds or 0.0 for each in found(advice, "pageable").evidence]
    assert sum(on_device) == pytest.approx(20 * 5e-3, rel=0.01)


@pytest.mark.parametrize("call", ["cudaMemcpy", "cudaMemcpyAsync"])
def test_a_thread_waits_in_the_call_or_for_the_queue(run: Run, seconds: Callable[..., float], call: str) -> None:
    usual = seconds("pinned", "h2d", SIZE)
    program = Program()
    for _ in range(20):
        program.copy(SIZE, usual, call=call, host=HOST, device=DEVICE)
        if call == "cudaMemcpyAsync":
            program.synchronize()
        program.own(0.4e-3)
        program.kernel(1e-5)
    assert gain(advise([as_opencl(program.trace())], run), "synchronous") == pytest.approx(20 * 0.4e-3, rel=0.03)


@pytest.mark.parametrize("kind", ["pinned", "device"])
def test_only_buffers_of_pinned_memory_are_got_too_often(run: Run, kind: str) -> None:
    program = Program()
    program.copy(SIZE, 1.2e-3, host=HOST, device=DEVICE)
    for _ in range(10):
        program.allocate(SIZE, 30e-3, HOST)
        program.kernel(1e-3)
        program.synchronize()
        program.release(HOST, 6e-3)
    trace = as_opencl(program.trace())
    kinds = np.full(len(trace.allocations), memory_index(kind))
    advice = advise([replace(trace, allocations=replace(trace.allocations, kind=kinds))], run)
    assert gain(advice, "pinned-in-loop") == pytest.approx(9 * 36e-3 if kind == "pinned" else 0.0, rel=0.03)


@pytest.mark.parametrize("used", [True, False])
def test_a_pinned_buffer_that_copies_fill_is_not_idle(run: Run, used: bool) -> None:
    """Devices may work on such a buffer itself, which copies then write to as they do to any other."""
    program = Program()
    program.allocate(2 * GIB, 1e-3, DEVICE)
    program.copy(2 * GIB, 40e-3, host=HOST, device=DEVICE + (0 if used else 4 * GIB))
    advice = advise([as_opencl(program.trace())], run)
    assert ("over-pinned" in {finding.rule for finding in advice.findings}) != used
