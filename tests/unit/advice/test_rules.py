"""Each rule: what it finds where it is planted, what the timeline takes off, and where it has nothing to say."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from isthmus.advice import Advice, Finding, advise
from isthmus.advice.rates import Rates
from isthmus.language import LANGUAGES, speaking
from isthmus.record import GIB, KIB, MIB, Case, Migrations, Run
from isthmus.trace import UNKNOWN, Faults, fault_index
from tests.synthetic import batching, breakeven, managed
from tests.synthetic import runs as synthetic
from tests.synthetic.traces import EVERYTHING, Program

HOST, DEVICE = 0x1000_0000_0000, 0x2000_0000_0000
SIZE = 64 * MIB


def found(advice: Advice, rule: str) -> Finding | None:
    return next((finding for finding in advice.findings if finding.rule == rule), None)


def gain(advice: Advice, rule: str) -> float:
    finding = found(advice, rule)
    return finding.gain_seconds.median if finding and finding.gain_seconds else 0.0


def abstaining(advice: Advice) -> set[str]:
    return {abstention.rule for abstention in advice.abstentions}


def test_the_gain_of_pinning_is_the_copies_less_what_locking_costs(run: Run, seconds: Callable[..., float]) -> None:
    uses = 20
    slow, fast = (seconds(kind, "h2d", SIZE) for kind in ("pageable", "registered"))
    lock = sum(breakeven.H200.memory["registered", phase].seconds(SIZE) for phase in ("allocate", "free"))
    gains = []
    for buffers in (1, 4):
        program = Program()
        for use in range(uses):
            program.copy(SIZE, slow, kind="pageable", host=HOST + use % buffers * SIZE, device=DEVICE, site="load")
            program.kernel(1e-5)
        advice = advise([program.trace()], run)
        gains.append(gain(advice, "pageable"))
        assert gains[-1] == pytest.approx(uses * (slow - fast) - buffers * lock, rel=0.03)
        assert found(advice, "pageable").evidence[0].place == "load"  # type: ignore[union-attr]
        # Without addresses, all copies are taken to be of one buffer.
        blind = advise([program.trace(EVERYTHING - {"addresses"})], run)
        assert gain(blind, "pageable") == pytest.approx(gains[0], rel=0.001)


def test_a_pageable_buffer_that_is_used_once_is_left(run: Run, seconds: Callable[..., float]) -> None:
    program = Program()
    program.copy(4 * KIB, seconds("pageable", "h2d", 4 * KIB), kind="pageable", host=HOST, device=DEVICE)
    program.own(1.0)
    finding = found(advise([program.trace()], run), "pageable")
    assert finding
    assert (finding.level, finding.gain_seconds, finding.calls) == ("note", None, 1)


def test_what_kernels_hide_is_not_gained(run: Run, seconds: Callable[..., float]) -> None:
    """Pageable copies under kernels of another stream: only what sticks out counts."""
    slow = seconds("pageable", "h2d", SIZE)
    lock = sum(breakeven.H200.memory["registered", phase].seconds(SIZE) for phase in ("allocate", "free"))
    gains = []
    for covered in (0.0, 0.5, 1.0):
        program = Program()
        for _ in range(20):
            program.kernel(max(covered * slow, 1e-6), stream=1)
            program.copy(SIZE, slow, kind="pageable", host=HOST, device=DEVICE)
        gains.append(gain(advise([program.trace()], run), "pageable"))
    assert gains[0] > 20 * 0.5 * slow
    assert gains[1] == pytest.approx(20 * 0.5 * slow - lock, rel=0.03)
    assert gains[2] <= 20 * 10e-6


def test_what_a_copy_takes_while_the_host_works_and_nothing_waits_is_not_gained(run: Run) -> None:
    program = Program()
    for _ in range(20):
        # Three times as long as the run says, but the host is busy for longer.
        program.copy(SIZE, 3.6e-3, call="cudaMemcpyAsync", host=HOST, device=DEVICE)
        program.own(10e-3)
        program.synchronize()
    finding = found(advise([program.trace()], run), "slow-copies")
    assert finding
    assert finding.level == "note"
    assert (finding.gain_seconds.median if finding.gain_seconds else 0) < 1e-3


def test_slow_copies_gain_the_difference_to_what_the_run_says(run: Run, seconds: Callable[..., float]) -> None:
    usual = seconds("pinned", "h2d", SIZE)
    for factor, slow in ((1.2, False), (2.0, True)):
        program = Program()
        for _ in range(20):
            program.copy(SIZE, factor * usual, host=HOST, device=DEVICE)
        advice = advise([program.trace()], run)
        expected = 20 * (factor - 1) * usual if slow else 0.0
        assert gain(advice, "slow-copies") == pytest.approx(expected, rel=0.03)


def test_copies_of_narrow_rows_and_both_ways_at_once_are_not_slow(run: Run) -> None:
    rows, both = Program(), Program()
    for _ in range(20):
        rows.copy(SIZE, 20e-3, host=HOST, device=DEVICE, rows=8 * MIB)
        both.copy(SIZE, 2.4e-3, call="cudaMemcpyAsync", stream=1)
        both.copy(SIZE, 2.4e-3, direction="d2h", call="cudaMemcpyAsync", stream=2)
        both.synchronize()
    assert found(advise([rows.trace()], run), "slow-copies") is None
    assert found(advise([both.trace()], run), "slow-copies") is None


@pytest.fixture
def slow(seconds: Callable[..., float]) -> Any:
    """A program whose copies take twice what the run says."""
    program = Program()
    for _ in range(20):
        program.copy(SIZE, 2 * seconds("pinned", "h2d", SIZE), host=HOST, device=DEVICE)
    return program


def test_another_machines_rates_call_nothing_slow(run: Run, slow: Any) -> None:
    assert found(advise([slow.trace(device="NVIDIA H200")], run), "slow-copies") is not None
    assert "slow-copies" in abstaining(advise([slow.trace(device="NVIDIA A100-SXM4-80GB")], run))


def test_copies_of_unknown_memory_are_not_passed_over_in_silence(run: Run) -> None:
    program = Program()
    for _ in range(20):
        program.copy(SIZE, 8e-3, kind="pageable", host=HOST, device=DEVICE)
    known = program.trace()
    unknown = replace(known, copies=replace(known.copies, source=np.full(20, UNKNOWN)))
    assert found(advise([known], run), "pageable") is not None
    assert {"pageable", "slow-copies"} <= abstaining(advise([unknown], run))
    assert not {"pageable", "slow-copies"} & abstaining(advise([known], run))


def test_copies_beside_those_of_another_process_are_not_slow(run: Run, slow: Any) -> None:
    alone = slow.trace()
    twice = {name: np.concatenate([column, column]) for name, column in vars(alone.copies).items()}
    twice["process"][len(alone.copies) :] = 1
    two = replace(alone, copies=replace(alone.copies, **twice), processes=(*alone.processes, *alone.processes))
    assert found(advise([alone], run), "slow-copies") is not None
    assert found(advise([two], run), "slow-copies") is None
    # Each device has a link of its own: what halves both is a switch, or memory, that they share.
    two.copies.device[len(alone.copies) :] = 1
    finding = found(advise([two], run), "slow-copies")
    assert finding
    assert "27.6 GB/s beside another device, where one alone gets 55.0 GB/s by the run; together" in finding.cause
    assert "get 55.2 GB/s" in finding.cause
    # Whatever such devices are, they halve one another; how fast one is alone is then as sure as what it is.
    nameless = found(advise([replace(two, devices={})], run), "slow-copies")
    assert nameless
    assert nameless.gain_seconds
    assert nameless.gain_seconds.low == 0
    assert found(advise([replace(alone, devices={})], run), "slow-copies") is None


def test_the_thread_can_work_beside_a_copy_that_it_does_not_wait_for(run: Run, seconds: Callable[..., float]) -> None:
    usual = seconds("pinned", "h2d", SIZE)
    for own, after in ((0.4e-3, False), (5e-3, False), (5e-3, True)):
        program = Program()
        for _ in range(20):
            program.copy(SIZE, usual, call="cudaMemcpyAsync" if after else "cudaMemcpy", host=HOST, device=DEVICE)
            if after:
                program.synchronize()
            program.own(own)
            program.kernel(1e-5)
        advice = advise([program.trace()], run)
        assert gain(advice, "synchronous") == pytest.approx(20 * min(own, usual), rel=0.03)
    lacking = advise([program.trace(EVERYTHING - {"calls"})], run)
    assert "synchronous" in abstaining(lacking)
    # The recorder hashes between the calls, and nobody knows for how long.
    program.copy(SIZE, usual, host=HOST, device=DEVICE, content=1)
    program.own(5e-3)
    program.kernel(1e-5)
    assert "synchronous" in abstaining(advise([program.trace()], run))


def test_the_same_content_is_needed_once(run: Run, seconds: Callable[..., float]) -> None:
    usual = seconds("pinned", "h2d", SIZE)
    program = Program()
    for step in range(20):
        program.copy(SIZE, usual, host=HOST + step % 2 * SIZE, device=DEVICE, content=step % 2)
        program.kernel(1e-3)
    advice = advise([program.trace()], run)
    assert gain(advice, "duplicate") == pytest.approx(18 * usual, rel=0.03)
    assert "duplicate" in abstaining(advise([program.trace(EVERYTHING - {"contents"})], run))


@pytest.mark.parametrize("change", ["content", "time", "place"])
def test_what_the_host_may_have_changed_is_no_round_trip(run: Run, seconds: Callable[..., float], change: str) -> None:
    program = Program()
    for step in range(20):
        content: dict[str, Any] = {"content": step * 2} if change == "content" else {}
        program.copy(SIZE, seconds("pinned", "h2d", SIZE), host=HOST, device=DEVICE, **content)
        program.kernel(1e-3)
        content = {"content": step * 2 + 1} if change == "content" else {}
        device = DEVICE + (SIZE if change == "place" else 0)
        program.copy(SIZE, seconds("pinned", "d2h", SIZE), direction="d2h", host=HOST, device=device, **content)
        program.own(30e-3 if change == "time" else 0)
    assert found(advise([program.trace()], run), "round-trip") is None


def test_a_state_that_stays_is_not_freed_on_the_host(run: Run, seconds: Callable[..., float]) -> None:
    """It comes into new pages each time, at one address: without the trip nothing is got and freed."""
    price, own = float(Rates(run).freed(np.array([SIZE]))[0, 0]), 20e-3
    gains = []
    for fetched in (SIZE / 1.5e9, seconds("pageable", "d2h", SIZE)):
        program = Program()
        for step in range(20):
            place: dict[str, Any] = {"kind": "pageable", "host": HOST, "device": DEVICE, "content": step}
            program.kernel(1e-3)
            program.copy(SIZE, fetched, direction="d2h", **place)
            program.copy(SIZE, seconds("pageable", "h2d", SIZE), **place)
            program.own(own)
        gains.append(gain(advise([program.trace()], run), "round-trip") - 20 * fetched)
    new, used = gains
    assert new - used == pytest.approx(19 * price, rel=0.02)


def test_a_round_trip_cannot_be_told_without_addresses_and_contents(run: Run) -> None:
    program = Program()
    program.copy(SIZE, 1.2e-3, host=HOST, device=DEVICE)
    lacking = advise([program.trace(EVERYTHING - {"addresses", "contents"})], run)
    assert "round-trip" in abstaining(lacking)
    for one in ("addresses", "contents"):
        assert "round-trip" not in abstaining(advise([program.trace(EVERYTHING - {one})], run))


@pytest.mark.parametrize("between", [True, False])
def test_data_that_no_kernel_saw_is_unused(run: Run, seconds: Callable[..., float], between: bool) -> None:
    usual = seconds("pinned", "h2d", SIZE)
    program = Program()
    for _ in range(20):
        for use in range(2):
            program.copy(SIZE, usual, host=HOST + use * SIZE, device=DEVICE)
            if between or use == 1:
                program.kernel(1e-3)
                program.synchronize()
    advice = advise([program.trace()], run)
    assert gain(advice, "unused") == pytest.approx(0.0 if between else 20 * usual, rel=0.03)


@pytest.mark.parametrize("times", [1, 2])
def test_more_moves_than_the_run_counted_take_longer(run: Run, times: int) -> None:
    """What managed pages take on demand beyond a prefetch is a time for each move."""
    size, share = 64 * MIB, 64 * MIB / managed.SIZE
    demanded, prefetched = (share * managed.H200[way, "managed"](1.0)[0] for way in ("managed", "prefetch_whole"))
    moves = [Migrations(direction="h2d", cause="coherence", bytes=64 * KIB, count=1024, alignment_bytes=64 * KIB)]
    sweep = Case(experiment="managed", method="counted_device_sweep", host_memory="managed", bytes=size)
    sweep = msgspec.structs.replace(sweep, direction="h2d", stride_bytes=4 * KIB, migrations=moves, verified="yes")
    program = Program()
    begin = program.kernel(1.0)
    part = 64 * KIB // times
    for place in range(size // part):
        program.migrate(part, 1e-6, "h2d", DEVICE + place * part, begin + place * 2e-6, "fault")
    program.synchronize()
    advice = advise([program.trace()], msgspec.structs.replace(run, cases=[*run.cases, sweep]))
    assert gain(advice, "managed") == pytest.approx(times * (demanded - prefetched), rel=0.03)


@pytest.mark.parametrize("evicted", [True, False])
def test_memory_that_does_not_hold_all_is_named(run: Run, evicted: bool) -> None:
    program = Program()
    begin = program.kernel(1.0)
    for place in range(64):
        program.migrate(MIB, 1e-3, "h2d", DEVICE + place * MIB, begin + place * 2e-3, "fault")
        if evicted:
            program.migrate(MIB, 1e-3, "d2h", DEVICE - place * MIB, begin + place * 2e-3 + 1e-3, "eviction")
    program.synchronize()
    finding = next(each for each in advise([program.trace()], run).findings if each.rule == "managed")
    assert ("64 moves, 67.1 MB, only made room" in finding.cause) is evicted
    assert ("parts that fit" in finding.change) is evicted


@pytest.mark.parametrize(
    ("cause", "calls", "expected"),
    [("prefetch", True, True), ("", False, True), ("", True, False), ("user", True, False)],
)
def test_only_what_nobody_asked_for_moves_on_demand(run: Run, cause: str, calls: bool, expected: bool) -> None:
    """The driver's own prefetch is on demand, a program's is not; without causes its calls tell."""
    program = Program()
    if calls:
        program.call("cudaMemPrefetchAsync", 1e-5)
    begin = program.kernel(1.0)
    for place in range(64):
        program.migrate(MIB, 1e-3, "h2d", DEVICE + place * MIB, begin + place * 2e-3, cause)
    program.synchronize()
    assert (gain(advise([program.trace()], run), "managed") > 0) == expected


def test_faults_of_the_process_are_told(run: Run) -> None:
    program = Program()
    begin = program.kernel(1.0)
    program.migrate(64 * MIB, 0.5, "h2d", DEVICE, begin)
    trace = program.trace()
    zero = np.zeros(4, np.int64)
    faults = Faults(
        start_ns=zero,
        end_ns=zero,
        process=np.array([0, 0, 0, 1]),
        kind=np.array([fault_index(kind) for kind in ("device", "device", "cpu", "device")]),
        device=zero,
        address=zero,
        count=np.array([40, 2, 7, 999]),
    )
    told = found(advise([replace(trace, faults=faults)], run), "managed")
    assert told is not None
    assert "Page faults: 42 on devices, 7 on CPUs" in told.cause
    silent = found(advise([trace], run), "managed")
    assert silent is not None
    assert "faults" not in silent.cause


def test_pinned_memory_in_a_loop_costs_what_its_calls_take(run: Run) -> None:
    loop, pool = Program(), Program()
    for step in range(10):
        loop.allocate(SIZE, 30e-3, HOST)
        loop.kernel(1e-3)
        loop.synchronize()
        loop.release(HOST, 6e-3)
        pool.allocate(SIZE, 30e-3, HOST + step * SIZE)
    for step in range(10):
        # Memory that is kept to the end is no loop's.
        pool.release(HOST + step * SIZE, 6e-3)
    assert gain(advise([loop.trace()], run), "pinned-in-loop") == pytest.approx(9 * 36e-3, rel=0.03)
    assert found(advise([pool.trace()], run), "pinned-in-loop") is None


def test_pinned_memory_that_no_copy_touches_is_told(run: Run) -> None:
    program = Program()
    program.allocate(8 * GIB, 1.0, HOST)
    program.copy(SIZE, 1.2e-3, host=HOST + SIZE, device=DEVICE)
    finding = found(advise([program.trace()], run), "over-pinned")
    assert finding
    assert (finding.level, finding.gain_seconds) == ("note", None)
    assert "8128 MiB" in finding.title
    assert "over-pinned" in abstaining(advise([program.trace(EVERYTHING - {"allocations"})], run))


def test_one_large_copy_before_one_long_kernel_can_be_cut(run: Run) -> None:
    for kernels, cut in ((1, True), (50, False)):
        program = Program()
        program.copy(GIB, 19.4e-3, call="cudaMemcpyAsync", host=HOST, device=DEVICE)
        for _ in range(kernels):
            program.kernel(20e-3 / kernels)
        program.synchronize()
        # All of the copy but its first of eight chunks.
        expected = 19.4e-3 * 7 / 8 if cut else 0.0
        assert gain(advise([program.trace()], run), "no-overlap") == pytest.approx(expected, rel=0.05)


def test_processes_that_run_at_the_same_time_gain_together_what_one_gains(
    run: Run, seconds: Callable[..., float]
) -> None:
    slow = seconds("pageable", "h2d", SIZE)
    traces = []
    for uses in (20, 10):
        program = Program()
        for _ in range(uses):
            program.copy(SIZE, slow, kind="pageable", host=HOST, device=DEVICE)
        traces.append(program.trace())
    alone, together = advise(traces[:1], run), advise(traces, run)
    assert gain(together, "pageable") == gain(alone, "pageable")
    finding = found(together, "pageable")
    assert finding
    assert (finding.calls, finding.bytes) == (30, 30 * SIZE)
    assert "Times: the process with most to gain." in finding.cause
    assert together.span_seconds == alone.span_seconds


def test_what_overlap_gains_beyond_pinning_comes_on_top(run: Run, seconds: Callable[..., float]) -> None:
    program = Program()
    for step in range(20):
        place: dict[str, Any] = {"host": HOST + step * SIZE, "device": DEVICE, "kind": "pageable"}
        program.copy(SIZE, seconds("pageable", "h2d", SIZE), **place)
        program.kernel(1e-3)
        program.copy(SIZE, seconds("pageable", "d2h", SIZE), direction="d2h", **place)
    advice = advise([program.trace()], run)
    pinned, overlapped = (gain(advice, rule) for rule in ("pageable", "no-overlap"))
    assert min(pinned, overlapped) > 5e-3
    assert advice.gain_seconds
    assert advice.gain_seconds.median == pytest.approx(pinned + overlapped)


def test_a_run_without_times_makes_a_rule_abstain() -> None:
    program = Program()
    for _ in range(20):
        program.copy(SIZE, 5e-3, kind="pageable", host=HOST, device=DEVICE)
    advice = advise([program.trace()], synthetic.run([]))
    assert not advice.findings
    assert "pageable" in abstaining(advice)


def without_breakeven(run: Run, layouts: Sequence[str] = ("scattered", "contiguous")) -> Run:
    """What a run knows that lacks `breakeven`, and whose pieces lie only so on the device."""
    cases = [each for each in run.cases if each.experiment != "breakeven"]
    return msgspec.structs.replace(
        run, cases=[each for each in cases if each.experiment != "batching" or each.device_layout in layouts]
    )


@pytest.mark.parametrize("own", [2e-6, 1e-3])
def test_a_round_trip_without_a_moment_of_the_host_needs_no_rate(
    run: Run, seconds: Callable[..., float], own: float
) -> None:
    """Less than the fastest thread could write the data in; above that, only a rate could tell."""
    program = Program()
    for _ in range(20):
        program.copy(SIZE, seconds("pinned", "h2d", SIZE), call="cudaMemcpyAsync", host=HOST, device=DEVICE)
        program.kernel(1e-3)
        out = seconds("pinned", "d2h", SIZE)
        program.copy(SIZE, out, direction="d2h", call="cudaMemcpyAsync", host=HOST, device=DEVICE)
        program.synchronize()
        program.own(own)
    advice = advise([program.trace()], without_breakeven(run))
    assert "round-trip" not in abstaining(advice)
    assert (found(advice, "round-trip") is not None) == (own < 1e-5)


@pytest.mark.parametrize("apart", [1, 3])
def test_small_copies_need_no_rate_of_a_memcpy(run: Run, apart: int) -> None:
    """Where pieces lie side by side on the device, those that lie apart there stand for them in a run without such."""
    count, size = 4096, KIB
    as_it_is = batching.H200["copies"](size, count)
    program = Program()
    for piece in range(count):
        place: dict[str, Any] = {
            "host": HOST + (piece * 7919 % count) * size * 2,
            "device": DEVICE + piece * apart * size,
        }
        program.copy(size, as_it_is / count, call="cudaMemcpyAsync", launch=as_it_is / count, **place)
    program.synchronize()
    advice = advise([program.trace()], without_breakeven(run, ["scattered"]))
    packed = batching.H200["pack"](size, count)
    assert gain(advice, "small-copies") == pytest.approx(as_it_is - packed, rel=0.25)


def test_bursts_that_wait_in_a_queue_last_from_the_end_of_those_before(run: Run) -> None:
    """All are asked for at once; what the first takes is no time of the others."""
    each, program = 20e-6, Program()
    for burst in range(8):
        for piece in range(100):
            place: dict[str, Any] = {"host": HOST + piece * piece * KIB, "device": DEVICE + piece * KIB}
            direction = "d2h" if burst % 2 else "h2d"
            program.copy(KIB, each, direction=direction, call="cudaMemcpyAsync", launch=1e-6, **place)
    program.synchronize()
    program.own(1.0)
    program.synchronize()
    cases = [case for case in run.cases if case.experiment not in {"batching", "strided"}]
    advice = advise([program.trace()], msgspec.structs.replace(run, cases=cases))
    assert 0.5 * 800 * each < gain(advice, "small-copies") < 800 * each


def test_rates_of_another_machine_are_said_to_be(run: Run) -> None:
    program = Program()
    program.kernel(1e-3)
    for device, elsewhere in (("NVIDIA A100-SXM4-80GB", True), ("NVIDIA H200", False), ("", False)):
        advice = advise([program.trace(device=device)], run)
        assert bool(advice.priced_elsewhere) == elsewhere
        assert "H200" in advice.priced_by


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_rule_speaks_every_language(run: Run, language: str) -> None:
    program = Program()
    program.allocate(8 * GIB, 1e-3, HOST)
    for step in range(20):
        program.copy(SIZE, 5e-3, kind="pageable", host=HOST, device=DEVICE, content=1)
        program.copy(SIZE, 5e-3, host=HOST, device=DEVICE, content=1)
        program.own(1e-3)
        program.kernel(2e-3)
        program.copy(SIZE, 5e-3, direction="d2h", host=HOST, device=DEVICE, content=1)
        program.migrate(SIZE, 10e-3, "h2d", DEVICE)
        for piece in range(20):
            program.copy(64, 8e-6, host=HOST + piece * piece * 64, device=DEVICE + piece * 64)
            program.copy(64, 8e-6, host=HOST + piece * 128, device=DEVICE + piece * 64) if step % 2 else None
        program.allocate(SIZE, 1e-3, HOST)
        program.release(HOST, 1e-3)
    with speaking(language):  # type: ignore[arg-type]
        advice = advise(
            [program.trace(), program.trace({"kernels"}, maker="nsys"), program.trace({"kernels"}, maker="kineto")], run
        )
    assert len({finding.rule for finding in advice.findings}) >= 8
    for finding in advice.findings:
        assert finding.title
        assert finding.cause or finding.rule in {"managed", "over-pinned"}
        assert finding.change
        assert "{" not in finding.title + finding.cause + finding.change + finding.pricing
    assert all(abstention.why for abstention in advice.abstentions)


def test_an_empty_trace_has_no_findings(run: Run) -> None:
    advice = advise([Program().trace()], run)
    assert (advice.findings, advice.gain_seconds, advice.span_seconds) == ((), None, 0.0)
    assert advise([], run).findings == ()
