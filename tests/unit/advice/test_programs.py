"""Whole programs with a planted problem and without it: the top finding names it and gains what the fix gains."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from isthmus.advice import Advice, advise
from isthmus.record import KIB, MIB, Run
from tests.synthetic import batching, managed, strided
from tests.synthetic.traces import EVERYTHING, LAUNCH, Program

HOST, HOST_OUT, DEVICE, DEVICE_OUT = (0x1000_0000_0000 * place for place in range(1, 5))
SIZE = 64 * MIB
STEPS = 30


def check(broken: Advice, rule: str, gained: float, within: float = 0.25) -> None:
    """The first finding is of the rule, and gains what the fixed program gained."""
    top = broken.findings[0]
    assert (top.rule, top.level) == (rule, "ATTENTION")
    assert top.gain_seconds
    assert top.gain_seconds.median == pytest.approx(gained, rel=within)
    assert top.gain_seconds.low <= top.gain_seconds.median <= top.gain_seconds.high


@pytest.mark.parametrize("kernel", [0.1e-3, 1e-3, 20e-3])
def test_a_loop_through_pageable_memory(run: Run, seconds: Callable[..., float], kernel: float) -> None:
    programs = []
    for kind in ("pageable", "pinned"):
        program = Program()
        for _ in range(STEPS):
            program.copy(SIZE, seconds(kind, "h2d", SIZE), kind=kind, host=HOST, device=DEVICE)
            program.kernel(kernel)
            out = seconds(kind, "d2h", SIZE)
            program.copy(SIZE, out, kind=kind, direction="d2h", host=HOST_OUT, device=DEVICE_OUT)
        programs.append(program)
    broken, fixed = programs
    advice = advise([broken.trace()], run)
    check(advice, "pageable", broken.span_seconds - fixed.span_seconds)
    assert "pageable" not in {finding.rule for finding in advise([fixed.trace()], run).findings}
    assert set(advice.findings[0].snippets) >= {"cuda", "torch", "cupy"}


@pytest.mark.parametrize("call", ["cudaMemcpy", "cudaMemcpyAsync"])
@pytest.mark.parametrize("overhead", [0.0, 3e-6])
def test_thousands_of_small_copies(run: Run, seconds: Callable[..., float], call: str, overhead: float) -> None:
    """The same prediction however much tracing slows down each call."""
    count, size = 4096, 4 * KIB
    method = "waited_copies" if call == "cudaMemcpy" else "copies"
    as_it_is = batching.H200[method](size, count)
    program = Program()
    program.own(1e-3)
    for piece in range(count):
        place: dict[str, Any] = {"host": HOST + piece * 3 * size + (piece % 5) * 64, "device": DEVICE + piece * size}
        # The host enqueues more slowly than the device copies.
        launch = LAUNCH if call == "cudaMemcpy" else as_it_is / count
        program.copy(size, as_it_is / count + overhead, call=call, launch=launch + overhead, **place)
    program.synchronize()
    packed = batching.in_one_call(size, count)
    advice = advise([program.trace()], run)
    top = advice.findings[0]
    assert top.rule == "small-copies"
    assert top.calls == count
    assert top.gain_seconds
    assert top.gain_seconds.median == pytest.approx(as_it_is - packed, rel=0.25)


def test_column_by_column(run: Run) -> None:
    columns, rows, width, pitch = 8, 1024, 64, 128
    each = batching.H200["waited_copies"](width, 1)
    program = Program()
    for column in range(columns):
        for row in range(rows):
            host = HOST + column * width + row * pitch
            program.copy(width, each, call="cudaMemcpy", host=host, device=DEVICE + (column * rows + row) * width)
        program.kernel(20e-6)
        program.synchronize()
    advice = advise([program.trace()], run)
    together = columns * (rows * each - strided.H200["section"](width, rows))
    check(advice, "strided", together)
    assert "small-copies" not in {finding.rule for finding in advice.findings}
    without = advise([program.trace(EVERYTHING - {"addresses"})], run)
    assert without.findings[0].rule == "small-copies"
    assert "strided" in {abstention.rule for abstention in without.abstentions}


def test_no_buffer_holds_all_of_many_small_copies(run: Run) -> None:
    size, count, at_once = 4 * KIB, 32768, 16384
    each = batching.H200["copies"](size, at_once) / at_once
    program = Program()
    for piece in range(count):
        place: dict[str, Any] = {
            "host": HOST + (piece * piece % count) * size * 2,
            "device": DEVICE + piece * piece * size,
        }
        program.copy(size, each / 2, call="cudaMemcpyAsync", launch=each, **place)
    program.synchronize()
    found = next(each for each in advise([program.trace()], run).findings if each.rule == "small-copies")
    assert "64 MiB take" in found.pricing
    assert "piece < 16384" in found.snippets["cuda"]
    packed = count / at_once * batching.in_one_call(size, at_once)
    assert found.gain_seconds
    assert found.gain_seconds.median == pytest.approx(count * each - packed, rel=0.1)
    # What its call takes a copy takes, too.
    assert found.evidence[0].seconds == pytest.approx(count * each, rel=0.01)


def test_rows_larger_than_what_is_packed_at_once_are_rows_still(run: Run) -> None:
    program = Program()
    for row in range(20):
        program.copy(2 * SIZE, 3e-3, host=HOST + row * 4 * SIZE, device=DEVICE + row * 2 * SIZE)
    assert advise([program.trace()], run).span_seconds == pytest.approx(program.span_seconds, rel=0.1)


@pytest.mark.parametrize("kernel", [0.4e-3, 1.2e-3, 5e-3])
def test_chunks_one_after_another(run: Run, seconds: Callable[..., float], kernel: float) -> None:
    programs = []
    for streams in (1, 4):
        program = Program()
        for chunk in range(STEPS):
            place: dict[str, Any] = {
                "host": HOST + chunk * SIZE,
                "device": DEVICE + chunk * SIZE,
                "stream": chunk % streams,
            }
            program.copy(SIZE, seconds("pinned", "h2d", SIZE), call="cudaMemcpyAsync", **place)
            program.kernel(kernel, stream=chunk % streams)
            out = seconds("pinned", "d2h", SIZE)
            place |= {"host": HOST_OUT + chunk * SIZE}
            program.copy(SIZE, out, direction="d2h", call="cudaMemcpyAsync", **place)
        program.synchronize()
        programs.append(program)
    broken, fixed = programs
    advice = advise([broken.trace()], run)
    check(advice, "no-overlap", broken.span_seconds - fixed.span_seconds)
    # What is shorter than the longest stage is all that can be hidden.
    stages = [STEPS * seconds("pinned", way, SIZE) for way in ("h2d", "d2h")] + [STEPS * kernel]
    interval = advice.findings[0].gain_seconds
    assert interval
    assert interval.high <= sum(stages) - max(stages)
    assert not [each for each in advise([fixed.trace()], run).findings if each.level == "ATTENTION"]


@pytest.mark.parametrize("contents", [False, True])
def test_a_round_trip_in_each_step(run: Run, seconds: Callable[..., float], contents: bool) -> None:
    programs = []
    for stays in (False, True):
        program = Program()
        for step in range(STEPS):
            place: dict[str, Any] = {"host": HOST, "device": DEVICE, "kind": "pinned"}
            if step == 0 or not stays:
                program.copy(SIZE, seconds("pinned", "h2d", SIZE), content=step, **place)
            program.kernel(2e-3)
            if step == STEPS - 1 or not stays:
                program.copy(SIZE, seconds("pinned", "d2h", SIZE), direction="d2h", content=step + 1, **place)
        programs.append(program)
    broken, fixed = programs
    knows = EVERYTHING - (set() if contents else {"contents"})
    advice = advise([broken.trace(knows)], run)
    check(advice, "round-trip", broken.span_seconds - fixed.span_seconds)
    # Each turn needs what the one before it made.
    assert "no-overlap" not in {finding.rule for finding in advice.findings}
    assert not [each for each in advise([fixed.trace(knows)], run).findings if each.level == "ATTENTION"]


def test_managed_pages_that_thrash(run: Run) -> None:
    """As an H200 reports it: a page for its fault, and what the driver adds, more each time, for its own prefetch."""
    truths = managed.H200
    array, block = 256 * MIB, 2 * MIB
    share = array / managed.SIZE
    spans = []
    for way in (("managed", "managed"), ("prefetch_whole", "managed")):
        into, out = (share * each for each in truths[way](1.0))
        on_demand = way[0] == "managed"
        program = Program()

        def move(direction: str, begin: float, seconds: float, program: Any, on_demand: bool) -> None:
            """The array in order, in half of the time."""
            for first in range(0, array, block):
                for place, size in [(0, 64), (64, 64), (128, 128), (256, 256), (512, 512), (1024, 1024)]:
                    address, start = DEVICE + first + place * KIB, begin + seconds * (first + place * KIB) / array
                    each = 0.5 * seconds * size * KIB / array
                    if on_demand:
                        program.migrate(4 * KIB, each / 4, direction, address, start)
                        more = {"start": start + each / 4, "cause": "prefetch"}
                        program.migrate((size - 4) * KIB, each / 2, direction, address + 4 * KIB, **more)
                    else:
                        program.migrate(size * KIB, each, direction, address, start, "user")

        for _ in range(5):
            move("h2d", program.kernel(into), into, program, on_demand)
            program.synchronize()
            move("d2h", program.now, out, program, on_demand)
            program.own(out)
        program.kernel(1e-5)
        spans.append(program)
    broken, fixed = spans
    advice = advise([broken.trace()], run)
    check(advice, "managed", broken.span_seconds - fixed.span_seconds)
    assert advice.findings[0].bytes == 10 * array
    assert "managed" not in {finding.rule for finding in advise([fixed.trace()], run).findings}
    lacking = advise([broken.trace(EVERYTHING - {"migrations"}, maker="kineto")], run)
    assert "managed" in {abstention.rule for abstention in lacking.abstentions}
    # Rates that say nothing of moves on demand give no price, and the finding stays.
    cases = [case for case in run.cases if case.experiment != "managed"]
    unpriced = advise([broken.trace()], msgspec.structs.replace(run, cases=cases)).findings[0]
    assert (unpriced.rule, unpriced.level, unpriced.gain_seconds) == ("managed", "ATTENTION", None)
    assert "isthmus measure managed" in unpriced.pricing


def test_a_program_that_does_everything_right(run: Run, seconds: Callable[..., float]) -> None:
    """Pinned memory got once, few large copies on several streams under kernels, one wait at the end."""
    program = Program()
    program.allocate(2 * SIZE, 60e-3, HOST)
    for chunk in range(STEPS):
        stream = chunk % 4
        place: dict[str, Any] = {"call": "cudaMemcpyAsync", "stream": stream, "device": DEVICE + chunk * SIZE}
        program.copy(SIZE, seconds("pinned", "h2d", SIZE), host=HOST + stream * 1024, **place)
        program.kernel(1.5e-3, stream=stream)
        program.copy(SIZE, seconds("pinned", "d2h", SIZE), direction="d2h", host=HOST_OUT + stream * 1024, **place)
    program.synchronize()
    program.release(HOST, 5e-3)
    advice = advise([program.trace()], run)
    assert [each.rule for each in advice.findings if each.level == "ATTENTION"] == []


@pytest.mark.parametrize(("kernel", "is_row"), [(2e-6, True), (60e-6, False)])
def test_rows_one_by_one_between_kernels(run: Run, kernel: float, is_row: bool) -> None:
    """Each row with memory, a kernel and a wait of its own; a device that computes most of the time is no such loop."""
    count, size = 400, KIB
    program = Program()
    for row in range(count):
        program.call("cudaMalloc", 6e-6)
        program.kernel(kernel)
        program.own(4e-6 if is_row else kernel + 4e-6)
        program.copy(
            size, 10e-6, call="cudaMemcpyAsync", host=HOST + row * row * size, device=DEVICE + row * row * size
        )
        program.synchronize("cudaStreamSynchronize")
        program.own(10e-6)
    finding = next((each for each in advise([program.trace()], run).findings if each.rule == "small-copies"), None)
    assert (finding is not None) is is_row
    if finding is not None:
        assert finding.calls == count
        assert finding.gain_seconds
        assert "between" in finding.title
        # No more than the calls that copy, wait and allocate take.
        allocated = count * 6e-6
        assert allocated < finding.gain_seconds.median < allocated + count * 20e-6
        assert finding.gain_seconds.low < finding.gain_seconds.median - 0.9 * allocated


@pytest.mark.parametrize("call", ["cudaMemcpy", "cudaMemcpyAsync"])
def test_values_that_decide_what_is_launched_next_are_no_rows(run: Run, call: str) -> None:
    """A launch-bound loop of an `.item()` each: the next iteration needs the value, so that no block holds them all."""
    program = Program()
    for _ in range(400):
        for _ in range(5):
            program.own(20e-6)
            program.kernel(4e-6)
        program.own(60e-6)
        program.copy(4, 10e-6, direction="d2h", kind="pageable", call=call, device=DEVICE, site="train.py:7 step")
        program.synchronize("cudaStreamSynchronize")
    assert "small-copies" not in [each.rule for each in advise([program.trace()], run).findings]


@pytest.mark.parametrize("profiled", [True, False])
def test_lists_made_into_tensors_are_named_so(run: Run, profiled: bool) -> None:
    program = Program()
    for _ in range(200):
        program.copy(80, 8e-6, kind="pageable", call="cudaMemcpyAsync", site="train.py:7 step")
        program.own(20e-6)
    program.kernel(1e-3)
    program.synchronize()
    trace = program.trace(EVERYTHING - {"addresses"}, maker="kineto" if profiled else "isthmus")
    finding = next(each for each in advise([trace], run).findings if each.rule == "small-copies")
    assert ("lists or numbers of Python" in finding.change) is profiled
