"""Kernels that were recorded in windows alone: what advice extrapolates from them, and what it leaves unsaid."""

from dataclasses import replace

import numpy as np
import pytest

from isthmus.advice import Advice, Finding, advise
from isthmus.advice.windows import sample_of
from isthmus.record import MIB, Run
from isthmus.trace import Trace, Windows
from tests.synthetic.traces import Program
from tests.synthetic.windowed import in_windows

HOST, DEVICE = 0x1000_0000_0000, 0x2000_0000_0000
STEPS, KERNELS = 400, 20


def decoding(*, waits: bool = True, uneven: bool = False) -> Trace:
    """Tokens that the host asks for one by one, each of small kernels that it launches one by one; then a long one."""
    program = Program()
    for step in range(STEPS):
        for _ in range(KERNELS):
            program.own(6e-6)
            program.kernel(3e-6)
        program.kernel(4e-4 if uneven and step % 2 else 2e-4)
        if waits:
            program.copy(8, 8e-6, direction="d2h", kind="pageable", device=DEVICE, site="decode.py:12 next_token")
        elif step % 50 == 49:
            program.synchronize()
    program.synchronize()
    return program.trace()


def waits_of(advice: Advice) -> Finding | None:
    return next((finding for finding in advice.findings if finding.rule == "waits"), None)


@pytest.mark.parametrize("uneven", [False, True])
def test_waits_are_extrapolated_with_an_interval(run: Run, uneven: bool) -> None:
    trace = decoding(uneven=uneven)
    whole, found = (waits_of(advise([each], run)) for each in (in_windows(trace, 1, 1.0), in_windows(trace)))
    assert whole
    assert found
    assert whole.gain_seconds
    assert found.gain_seconds
    assert found.gain_seconds.median == pytest.approx(whole.gain_seconds.median, rel=0.15)
    assert found.gain_seconds.low < whole.gain_seconds.median < found.gain_seconds.high
    # All of the place are of the finding, also those between windows.
    assert found.calls == pytest.approx(whole.calls, abs=1)
    assert "25 hold this" in found.pricing


def test_few_windows_are_extrapolated_from_by_no_rule_that_needs_kernels(run: Run) -> None:
    advice = advise([in_windows(decoding(), count=19)], run)
    assert waits_of(advice) is None
    (why,) = [each.why for each in advice.abstentions if each.rule == "waits"]
    assert "only 19" in why
    assert "--kernels all" in why
    assert "unused" in {each.rule for each in advice.abstentions}
    # That is no all-clear.
    assert any("only 19" in each for each in advice.unseen)


def test_a_place_that_one_window_holds_stands_for_no_other(run: Run) -> None:
    """A few waits of a line that only one window has: the loop's, which too few hold, are many more."""
    windowed = in_windows(decoding(), count=19)
    calls, window = windowed.calls, windowed.windows
    inside = (calls.start_ns > window.start_ns[5] + 1e6) & (calls.end_ns < window.end_ns[5] - 1e6) & (calls.site >= 0)
    assert 0 < inside.sum() < 20
    site = np.where(inside, len(windowed.sites), calls.site)
    trace = replace(windowed, calls=replace(calls, site=site), sites=(*windowed.sites, ("decode.py:9 warm_up",)))
    advice = advise([trace], run)
    assert waits_of(advice) is None
    assert any("only 19" in each.why for each in advice.abstentions if each.rule == "waits")


def test_what_windows_hold_as_a_whole_needs_no_extrapolation(run: Run) -> None:
    """A program that launched few kernels first: that part is one window, whose waits are all known."""
    trace = decoding()
    begin, end = trace.span_ns
    windowed = in_windows(trace, 1, 1.0)
    whole = replace(windowed, windows=replace(windowed.windows, start_ns=np.array([begin]), end_ns=np.array([end])))
    finding = waits_of(advise([whole], run))
    assert finding
    assert "hold this" not in finding.pricing


def test_no_promise_is_below_the_kernels_of_the_whole_time(run: Run) -> None:
    """Most of the time is kernels: what windows hold of them counts for all of it."""
    program = Program()
    for _ in range(300):
        program.copy(16 * MIB, 1e-3, kind="pageable", host=HOST, device=DEVICE)
        for _ in range(20):
            program.kernel(1e-4)
    program.synchronize()
    trace = program.trace()
    busy = 300 * 20 * 1e-4
    advice = advise([in_windows(trace)], run)
    assert advice.gain_seconds
    assert advice.gain_seconds.high <= advice.span_seconds - 0.95 * busy


def test_nothing_is_found_where_nobody_waits(run: Run) -> None:
    advice = advise([in_windows(decoding(waits=False))], run)
    assert not [each for each in advice.findings if each.level == "ATTENTION"]


@pytest.mark.parametrize("copies", [True, False])
def test_steps_come_from_copies_and_calls_alone(run: Run, copies: bool) -> None:
    program = Program()
    for step in range(100):
        if copies:
            program.copy(MIB, 1e-4, host=HOST + step % 2 * MIB, device=DEVICE)
        for _ in range(50):
            program.own(5e-6)
            program.kernel(4e-6)
        program.kernel(4e-6, name="update")
        program.synchronize()
    trace = program.trace()
    for recorded in (trace, in_windows(trace, 5, 0.1)):
        steps = advise([recorded], run).steps
        assert steps
        assert steps.count == pytest.approx(100, abs=1)


def test_a_window_is_known_from_where_nothing_from_before_is_in_progress() -> None:
    """A long kernel that was launched before the second window still runs when that opens."""
    program = Program()
    program.kernel(1e-3)
    program.copy(8, 1e-5, direction="d2h", host=HOST, device=DEVICE)
    program.kernel(5e-3)
    program.own(2e-3)
    opened = program.now
    known = program.kernel(1e-3)
    program.own(7e-3)
    trace = program.trace()
    moments = ([0.0, opened], [1e-3, program.now], [0.0, opened - 2e-3 - 2e-6])
    start, end, launched = (np.round(1e9 * np.array(each)).astype(np.int64) for each in moments)
    windows = Windows(start, end, process=np.zeros(2, np.int64), launched_ns=launched)
    sample = sample_of(replace(trace, windows=windows), 0)
    assert sample
    assert sample.seconds == pytest.approx(1e-3 + program.now - known, rel=1e-3)
    # Without a launch since the wait, nothing can be in progress.
    idle = replace(windows, launched_ns=np.zeros(2, np.int64))
    whole = sample_of(replace(trace, windows=idle), 0)
    assert whole
    assert whole.seconds == pytest.approx(1e-3 + program.now - opened, rel=1e-3)
