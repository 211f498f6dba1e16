"""Small copies behind large ones: found by what waits for them, and by nothing where their turn is nobody's wait."""

from typing import Any

import pytest

from isthmus.advice import Advice, Finding, advise
from isthmus.record import GIB, MIB, Run
from tests.synthetic.traces import Program

STEPS, EVERY = 24, 4
KERNEL, OWN, SAVING = 10e-3, 2e-3, 20e-3
COMPUTE, SIDE = 0, 1


def of(advice: Advice) -> Finding | None:
    return next((finding for finding in advice.findings if finding.rule == "queued-behind"), None)


def save(program: Any, size: int = GIB, seconds: float = SAVING, stream: int = SIDE) -> None:
    program.copy(size, seconds, direction="d2h", call="cudaMemcpyAsync", stream=stream, site="train.py:70 save")


def look(program: Any) -> None:
    program.copy(4, 8e-6, direction="d2h", kind="pageable", stream=COMPUTE, site="train.py:41 check")


def checkpoints(how: str = "before") -> Program:
    """Steps whose host part needs a value of the step; every few steps all is saved beside them."""
    program = Program()
    for step in range(STEPS):
        program.kernel(KERNEL, stream=COMPUTE)
        if step % EVERY == 0 and how == "before":
            save(program)
        elif step % EVERY == 0 and how == "same stream":
            save(program, stream=COMPUTE)
        look(program)
        if step % EVERY == 0 and how == "small":
            save(program, size=MIB, seconds=4e-5)
        program.own(OWN)
    return program


def test_the_gain_is_what_the_host_waits_for_the_large_copy(run: Run) -> None:
    broken = checkpoints()
    finding = of(advise([broken.trace()], run))
    assert finding
    assert finding.gain_seconds
    assert finding.level == "ATTENTION"
    planted = broken.span_seconds - checkpoints("never").span_seconds
    assert planted == pytest.approx(STEPS // EVERY * (SAVING - KERNEL), rel=0.01)
    assert finding.gain_seconds.median == pytest.approx(planted, rel=0.02)
    assert 0.9 * planted < finding.gain_seconds.low < finding.gain_seconds.median <= finding.gain_seconds.high
    assert f": {STEPS // EVERY}" in finding.title
    assert "10.0 ms" in finding.cause
    assert finding.evidence[0].place == "train.py:41 check"
    assert "train.py:70 save" in {each.place for each in finding.evidence}


@pytest.mark.parametrize("how", ["never", "small", "same stream"])
def test_what_waits_for_no_large_copy_of_another_stream_is_none(run: Run, how: str) -> None:
    assert of(advise([checkpoints(how).trace()], run)) is None


def inputs(*, large: bool = True, stream: int = SIDE, wait: str = "") -> Program:
    """A large copy ahead of its use, and a small one that the next kernel needs."""
    program = Program()
    for _ in range(6):
        if large:
            program.copy(GIB, SAVING, call="cudaMemcpyAsync", stream=SIDE)
        program.copy(1024, 8e-6, call="cudaMemcpyAsync", stream=stream)
        if wait:
            program.call("cudaEventRecord", 1e-6)
            program.synchronize() if wait == "device" else program.synchronize("cudaStreamSynchronize")
        program.kernel(3 * SAVING, stream=stream)
        program.synchronize()
    return program


def test_a_kernel_may_wait_for_more_than_the_small_copy(run: Run) -> None:
    broken = inputs(stream=2)
    finding = of(advise([broken.trace()], run))
    assert finding
    assert finding.gain_seconds
    planted = broken.span_seconds - inputs(large=False, stream=2).span_seconds
    assert finding.gain_seconds.median == pytest.approx(planted, rel=0.02)
    assert finding.gain_seconds.low == 0


def test_a_kernel_behind_the_large_copy_needs_it(run: Run) -> None:
    assert of(advise([inputs(stream=SIDE).trace()], run)) is None


def test_who_waits_for_the_device_waits_for_the_large_copy_too(run: Run) -> None:
    assert of(advise([inputs(stream=2, wait="device").trace()], run)) is None
    assert of(advise([inputs(stream=2, wait="stream").trace()], run))


def test_an_engine_without_a_pause_gains_nothing(run: Run) -> None:
    """What waits goes on sooner, and no large copy ends any sooner."""
    program = Program()
    for _ in range(STEPS):
        save(program)
        look(program)
    assert of(advise([program.trace()], run)) is None


def test_without_streams_nothing_is_said(run: Run) -> None:
    program = Program()
    for _ in range(STEPS):
        save(program, stream=-1)
        program.copy(4, 8e-6, direction="d2h", kind="pageable", stream=-1)
        program.kernel(KERNEL)
    assert of(advise([program.trace()], run)) is None


def test_one_finding_speaks_of_the_large_copies(run: Run) -> None:
    """They take turns with kernels because the host waits for the small copy: no second counts twice."""
    program = Program()
    for _ in range(STEPS):
        save(program)
        look(program)
        program.kernel(KERNEL, stream=COMPUTE)
        program.synchronize("cudaStreamSynchronize")
    advice = advise([program.trace()], run)
    large = [finding for finding in advice.findings if any("save" in each.place for each in finding.evidence)]
    assert [finding.rule for finding in large] == ["queued-behind"]
    planted = (STEPS - 1) * KERNEL
    assert advice.gain_seconds
    assert advice.gain_seconds.median == pytest.approx(planted, rel=0.1)


def test_a_loss_that_is_fetched_now_and_then_beside_batches_is_no_fault(run: Run) -> None:
    """Batches go in and a value comes out: each direction has an engine of its own."""
    program = Program()
    for step in range(STEPS):
        program.copy(GIB // 4, SAVING / 4, call="cudaMemcpyAsync", stream=SIDE)
        program.kernel(KERNEL, stream=COMPUTE)
        if step % EVERY == 0:
            look(program)
        program.own(OWN)
    program.synchronize()
    assert of(advise([program.trace()], run)) is None


def test_a_wait_that_kernels_hide_is_none(run: Run) -> None:
    """The small copy comes late, and the device has been given enough to do."""
    program = Program()
    for _ in range(STEPS):
        save(program)
        program.copy(4, 8e-6, direction="d2h", call="cudaMemcpyAsync", stream=2)
        program.kernel(1.5 * SAVING, stream=COMPUTE)
        program.synchronize("cudaStreamSynchronize")
    assert of(advise([program.trace()], run)) is None
