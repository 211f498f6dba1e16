"""Waits that run the device dry: found by what it idles afterwards, and by nothing where it does not."""

import pytest

from isthmus.advice import Advice, Finding, advise
from isthmus.record import MIB, Run
from isthmus.trace import Trace, vendors
from tests.synthetic.traces import EVERYTHING, Program

STEPS, KERNELS, KERNEL, LAUNCHING = 20, 10, 1e-3, 5e-3
HOST, DEVICE = 0x1000_0000_0000, 0x2000_0000_0000

# By whose calls a value comes for which the library waits without one.
LIBRARIES = {"driver": "cuMemcpyDtoHAsync_v2", "runtime": "cudaMemcpyAsync"}


def of(advice: Advice, rule: str) -> Finding | None:
    return next((finding for finding in advice.findings if finding.rule == rule), None)


def steps(*, launching: float = LAUNCHING, every: int = 1, how: str = "item") -> Trace:
    """Steps whose host part comes after the value of the step before is known, as in `if loss.item() > ...`."""
    program = Program()
    for step in range(STEPS):
        program.own(launching)
        for _ in range(KERNELS):
            program.kernel(KERNEL)
        if step % every == 0:
            if how == "item":
                program.copy(4, 8e-6, direction="d2h", kind="pageable", device=DEVICE, site="train.py:41 check")
            elif how == "synchronize":
                program.synchronize()
            elif how == "fetch":
                program.copy(8 * MIB, 8e-4, direction="d2h", kind="pinned", host=HOST, device=DEVICE)
            elif how in LIBRARIES:
                program.copy(4, 8e-6, direction="d2h", call=LIBRARIES[how], host=HOST, device=DEVICE)
                # On a lock, until the copy is done.
                program.own(KERNELS * KERNEL)
    program.synchronize()
    return program.trace()


@pytest.mark.parametrize("how", ["item", "synchronize"])
def test_the_gain_is_what_the_device_idles(run: Run, how: str) -> None:
    advice = advise([steps(how=how)], run)
    finding = of(advice, "waits")
    assert finding
    assert finding.gain_seconds
    assert finding.level == "ATTENTION"
    # Nobody waits for what comes after the last step.
    assert finding.calls == STEPS - 1
    assert finding.gain_seconds.median == pytest.approx((STEPS - 1) * LAUNCHING, rel=0.02)
    assert finding.gain_seconds.low < finding.gain_seconds.median
    assert {"cuda", "torch", "cupy"} <= set(finding.snippets)


def test_tiny_copies_are_not_to_be_left_where_their_wait_is_the_cost(run: Run) -> None:
    advice = advise([steps()], run)
    pageable = of(advice, "pageable")
    assert pageable is None or pageable.calls == 1
    waits = of(advice, "waits")
    assert waits
    assert waits.evidence[0].place == "train.py:41 check"


def test_a_host_that_is_slower_than_the_device_gains_what_it_waited(run: Run) -> None:
    launching = 5 * KERNELS * KERNEL
    finding = of(advise([steps(launching=launching)], run), "waits")
    assert finding
    assert finding.gain_seconds
    # Launched ahead or not, each step takes the host as long as it takes to launch.
    assert finding.gain_seconds.median == pytest.approx((STEPS - 1) * KERNELS * KERNEL, rel=0.02)


def test_a_host_that_is_slower_is_spared_the_calls_that_fetch_the_value_too(run: Run) -> None:
    """As torch's `.item()`: a copy into pinned memory that does not wait, and a wait for it."""
    program, fetching = Program(), 1e-3
    for _ in range(STEPS):
        program.own(5 * KERNELS * KERNEL)
        for _ in range(KERNELS):
            program.kernel(KERNEL)
        program.copy(4, 8e-6, direction="d2h", call="cudaMemcpyAsync", device=DEVICE, launch=fetching)
        program.synchronize("cudaStreamSynchronize")
    finding = of(advise([program.trace()], run), "waits")
    assert finding
    assert finding.gain_seconds
    assert "Keep the values on the device" in finding.change
    assert finding.calls == STEPS - 1
    # All of the copy's call, during kernels, is spared where no value is fetched.
    assert finding.gain_seconds.median == pytest.approx((STEPS - 1) * KERNELS * KERNEL, rel=0.01)


def test_what_a_wait_lasts_beyond_the_kernels_is_little_of_its_own(run: Run) -> None:
    """Its call takes 5 ms longer than the kernels: for a host function or another device, of which nothing is known."""
    program, late = Program(), 5e-3
    for _ in range(STEPS):
        program.own(LAUNCHING)
        for _ in range(KERNELS):
            program.kernel(KERNEL)
        program.call("cudaStreamSynchronize", program.until_idle + late)
    finding = of(advise([program.trace()], run), "waits")
    assert finding
    assert finding.gain_seconds
    # No more than the device idles between two steps, which is counted once.
    assert finding.gain_seconds.median <= (STEPS - 1) * (LAUNCHING + late)
    # And the host is ahead by what it waited for kernels.
    short = Program()
    for _ in range(STEPS):
        short.own(20 * LAUNCHING)
        short.kernel(KERNELS * KERNEL)
        short.call("cudaStreamSynchronize", short.until_idle + late)
    finding = of(advise([short.trace()], run), "waits")
    assert finding
    assert finding.gain_seconds
    assert finding.gain_seconds.median == pytest.approx((STEPS - 1) * KERNELS * KERNEL, rel=0.01)


def test_waits_now_and_then_are_none(run: Run) -> None:
    assert of(advise([steps(every=10)], run), "waits") is None


def test_a_device_that_is_kept_busy_gains_nothing(run: Run) -> None:
    assert of(advise([steps(launching=1e-6)], run), "waits") is None


def test_work_on_a_result_may_be_what_the_device_waits_for(run: Run) -> None:
    finding = of(advise([steps(how="fetch")], run), "waits")
    assert finding is None or (finding.gain_seconds and finding.gain_seconds.low == 0)


def test_a_value_that_the_driver_fetches_may_be_waited_for_without_a_call(run: Run) -> None:
    finding = of(advise([steps(how="driver")], run), "waits")
    assert finding
    assert finding.gain_seconds
    assert finding.calls == STEPS - 1
    assert finding.gain_seconds.median == pytest.approx((STEPS - 1) * LAUNCHING, rel=0.05)
    # The host may have been at work on something else.
    assert finding.gain_seconds.low == 0
    # Who calls the runtime waits by its calls, all of which are recorded.
    assert of(advise([steps(how="runtime")], run), "waits") is None


def test_a_value_that_the_driver_fetches_beside_more_work_costs_nothing(run: Run) -> None:
    program = Program()
    for _ in range(STEPS):
        for _ in range(KERNELS):
            program.kernel(KERNEL)
        program.copy(4, 8e-6, direction="d2h", call="cuMemcpyDtoHAsync_v2", host=HOST, device=DEVICE, stream=1)
    program.synchronize()
    assert of(advise([program.trace()], run), "waits") is None


def test_without_calls_waits_are_not_judged(run: Run) -> None:
    program = Program()
    program.kernel(1e-3)
    advice = advise([program.trace(EVERYTHING - {"calls"})], run)
    assert "waits" in {abstention.rule for abstention in advice.abstentions}


# A call that no name tells to wait, what it moves if anything, and what the finding then says of it.
LATE = {
    "pageable H2D": ("cudaMemcpyAsync", "h2d", "pageable", "pinned memory"),
    "pinned H2D on a confidential machine": ("cudaMemcpyAsync", "h2d", "pinned", "confidential"),
    "HIP without memory kinds": ("hipMemcpyAsync", "d2h", "", "Keep the values"),
    "free": ("cudaFree", "", "", "cudaFreeAsync"),
    "free of HIP": ("hipFree", "", "", "Keep the buffer"),
    "free of the driver": ("cuMemFree_v2", "", "", "cudaFreeAsync"),
    "free of pinned memory": ("cudaFreeHost", "", "", "Keep the buffer"),
    "allocation": ("cudaMalloc", "", "", "before the loop"),
    "pinned allocation": ("cudaHostAlloc", "", "", "before the loop"),
    "module": ("cuModuleLoadData", "", "", "in the order of a stream"),
    "copy of HIP within the device": ("hipMemcpyDtoD", "d2d", "device", "in the order of a stream"),
}


def late_steps(call: str, direction: str, kind: str, late: float = 3e-6) -> Trace:
    """Steps that each end in a call which returns when all kernels have ended, as only its times show."""
    program = Program()
    for _ in range(STEPS):
        program.own(LAUNCHING)
        for _ in range(KERNELS):
            program.kernel(KERNEL)
        if direction:
            program.copy(
                12 << 10, 8e-6, direction=direction, kind=kind, call=call, host=HOST, device=DEVICE, waits=True
            )
        else:
            program.call(call, program.until_idle + late)
    program.synchronize()
    return program.trace()


@pytest.mark.parametrize(("call", "direction", "kind", "change"), LATE.values(), ids=LATE)
def test_calls_that_return_late_are_waits_by_their_times(
    run: Run, call: str, direction: str, kind: str, change: str
) -> None:
    finding = of(advise([late_steps(call, direction, kind)], run), "waits")
    assert finding
    assert finding.gain_seconds
    assert finding.calls == STEPS - 1
    assert finding.gain_seconds.median == pytest.approx((STEPS - 1) * LAUNCHING, rel=0.02)
    assert change in finding.change
    # The last wait is one, too.
    assert f"{1e3 * STEPS * KERNELS * KERNEL:.0f} ms" in finding.cause


def test_figures_are_of_the_calls_that_the_sentence_names(run: Run) -> None:
    """Twelve waits for values, and four of as long in `cudaFree`: the first sentence is of the twelve."""
    program = Program()
    for step in range(16):
        program.own(LAUNCHING)
        for _ in range(KERNELS):
            program.kernel(KERNEL)
        if step % 4 == 1:
            program.call("cudaFree", program.until_idle + 3e-6)
        else:
            program.copy(4, 8e-6, direction="d2h", kind="pageable", device=DEVICE)
    program.kernel(KERNEL)
    program.synchronize()
    finding = of(advise([program.trace()], run), "waits")
    assert finding
    assert finding.calls == 16
    first, idles, own, others = finding.cause.split(". ")
    assert f"{1e3 * 12 * KERNELS * KERNEL:.0f} ms" in first
    # After the last of them one kernel comes at once.
    assert f"{1e3 * 11 * LAUNCHING:.1f} ms" in idles
    assert own.startswith(f"The host does work of its own for {1e3 * 11 * LAUNCHING:.1f} ms of that")
    assert "other kinds: 4" in others
    assert f"{1e3 * 4 * LAUNCHING:.1f} ms" in others


LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


@pytest.mark.parametrize("named", ["", LOADER, "the whole program"])
def test_what_the_host_does_meanwhile_is_the_cause(run: Run, named: str) -> None:
    """A pipeline in one thread: the host prepares a batch, has the device compute, and needs the result."""
    program, batches, prepared, computed = Program(), 5, 0.12, 0.07
    for _ in range(batches):
        begin = program.now
        program.own(prepared)
        if named == LOADER:
            program.range(named, begin)
        program.copy(4 * MIB, 1e-3, host=HOST, device=DEVICE)
        program.kernel(computed)
        program.copy(MIB, 1e-4, direction="d2h", host=HOST, device=DEVICE)
    program.range("the whole program", 0.0)
    finding = of(advise([program.trace()], run), "waits")
    assert finding
    assert finding.gain_seconds
    # The host needs the result, so that maybe nothing is gained; and never more than it waits.
    assert finding.gain_seconds.low == 0
    assert finding.gain_seconds.median == pytest.approx((batches - 1) * computed, rel=0.02)
    own = f"{1e3 * (batches - 1) * prepared:.0f} ms of that"
    assert own + (f", in {LOADER}" if named == LOADER else ", before") in finding.cause
    assert ("event" in finding.change) == (named != LOADER)
    assert "another thread" in finding.change


def test_a_host_that_launches_is_at_no_other_work(run: Run) -> None:
    finding = of(advise([steps(launching=0.4e-3)], run), "waits")
    assert finding
    assert "work of its own" not in finding.cause


def test_a_call_that_is_long_by_itself_waits_for_nothing(run: Run) -> None:
    assert of(advise([late_steps("cudaMalloc", "", "", late=4e-3)], run), "waits") is None


def test_a_launch_waits_for_room_in_the_queue_alone(run: Run) -> None:
    assert of(advise([late_steps("cudaLaunchKernel", "", "")], run), "waits") is None


@pytest.mark.parametrize("name", ["cudaMallocAsync", "cudaFreeAsync", "cuMemFreeAsync", "hipFreeAsync"])
def test_memory_in_the_order_of_a_stream_is_waited_for_by_nothing(name: str) -> None:
    assert not vendors.allocates(name)
    assert not vendors.frees(name)


@pytest.mark.parametrize("call", ["cudaMalloc", "cudaMemcpyAsync"])
def test_calls_that_take_their_time_anyway_are_not_gained(run: Run, call: str) -> None:
    program, lasted = Program(), 2e-3
    for _ in range(STEPS):
        program.own(LAUNCHING - lasted)
        program.call(call, lasted)
        for _ in range(KERNELS):
            program.kernel(KERNEL)
        program.call("cudaFree", program.until_idle + 3e-6)
    program.synchronize()
    finding = of(advise([program.trace()], run), "waits")
    assert finding
    assert finding.gain_seconds
    assert finding.gain_seconds.median == pytest.approx((STEPS - 1) * (LAUNCHING - lasted), rel=0.02)
