"""What repeats within one forward pass is no step; what the host does once a round makes it one."""

from collections.abc import Callable

import pytest

from isthmus.advice import advise
from isthmus.record import Run
from isthmus.trace import Trace
from tests.synthetic.traces import Program

LAYERS, LAYER = 24, 1e-3


def a_pass(
    made: Program, *, within: Callable[[Program], None] = lambda _: None, named: str = "", compiled: bool = False
) -> None:
    """A forward pass: its data in, an embedding, equal layers that each do this besides, a head, and its result."""
    begin = made.now
    made.copy(40_000, 40e-6)
    made.kernel(0.2e-3, name="embedding")
    for _ in range(LAYERS):
        layer = made.now
        made.kernel(LAYER / 2, name="attention")
        within(made)
        made.kernel(LAYER / 2, name="mlp")
        if compiled:
            made.synchronize()
            made.range("## Call CompiledFxGraph fb3en3pm ##", layer)
    made.kernel(0.4e-3, name="head")
    made.copy(8, 20e-6, direction="d2h")
    made.synchronize()
    if named:
        made.range(named, begin)


def waits(made: Program) -> None:
    """As a layer that asks which of its experts have work."""
    made.copy(8, 20e-6, direction="d2h")


def loads(made: Program) -> None:
    """As a layer whose weights are on the host."""
    made.copy(4_000_000, 200e-6, call="cudaMemcpyAsync", kind="pageable")


def looks(made: Program) -> None:
    made.synchronize()
    made.own(0.2e-3)


def nothing(_made: Program) -> None:
    pass


NAMES = ("", "ProfilerStep#6", "execute_32_context_0(sq0)_generation_32(sq32)", "step[DECODE bs=32]", "capture_8192")


def traced(passes: int, within: Callable[[Program], None], *, named: str = "", compiled: bool = False) -> Trace:
    made = Program()
    made.kernel(1e-5, name="fill")
    for number in range(passes):
        a_pass(made, within=within, named=named.format(number=number), compiled=compiled)
    return made.trace()


@pytest.mark.parametrize("named", NAMES)
@pytest.mark.parametrize("within", [nothing, waits, loads, looks])
def test_the_layers_of_one_pass_are_no_steps(run: Run, within: Callable[[Program], None], named: str) -> None:
    assert advise([traced(1, within, named=named)], run).steps is None


def test_graphs_that_torch_compiled_are_no_steps(run: Run) -> None:
    assert advise([traced(1, nothing, compiled=True, named="ProfilerStep#6")], run).steps is None


@pytest.mark.parametrize("named", ["", "ProfilerStep#{number}"])
@pytest.mark.parametrize("within", [nothing, waits, loads, looks])
def test_several_passes_are_steps(run: Run, within: Callable[[Program], None], named: str) -> None:
    trace = traced(6, within, named=named)
    steps = advise([trace], run).steps
    assert steps
    assert steps.count == 6
    span = (trace.span_ns[1] - trace.span_ns[0]) * 1e-9
    assert steps.seconds == pytest.approx(span / 6, rel=0.05)


@pytest.mark.parametrize(("last", "expected"), [("layer", None), ("multi_tensor_apply_kernel<AdamFunctor>", 30)])
def test_without_a_wait_an_optimizer_makes_a_step(run: Run, last: str, expected: int | None) -> None:
    made = Program()
    for _ in range(30):
        for _ in range(4):
            made.kernel(1e-3, name="layer")
        made.kernel(0.5e-3, name="normalize")
        made.kernel(1e-3, name=last)
    made.synchronize()
    steps = advise([made.trace()], run).steps
    assert (steps and steps.count) == expected


def of_batches(rounds: int, *, out: bool) -> Program:
    """A loop, and what is computed of all its results after it."""
    made = Program()
    for _ in range(rounds):
        made.copy(4_000_000, 200e-6)
        for name in ("attention", "mlp", "head"):
            made.kernel(1e-3, name=name)
        if out:
            made.copy(4_000, 20e-6, direction="d2h")
    made.kernel(1e-3, name="mean")
    made.synchronize()
    return made


@pytest.mark.parametrize(("rounds", "out"), [(60, True), (200, False)])
def test_a_loop_before_something_else_is_one(run: Run, rounds: int, out: bool) -> None:
    steps = advise([of_batches(rounds, out=out).trace()], run).steps
    assert steps
    assert steps.count == rounds


@pytest.mark.parametrize("name", ["benchmark batch_32", "time per batch", "warm-up + 50 iter"])
def test_a_range_around_a_loop_is_no_step(run: Run, name: str) -> None:
    made = of_batches(60, out=True)
    made.range(name, 0.0)
    steps = advise([made.trace()], run).steps
    assert steps
    assert steps.count == 60


def test_three_short_ranges_far_apart_are_no_steps(run: Run) -> None:
    made = Program()
    for pause in (2e-3, 0.6, 1e-3):
        begin = made.now
        made.kernel(1e-3, name="normalize")
        made.synchronize()
        made.range("BatchNorm affine=True", begin)
        made.own(pause)
        made.kernel(1e-3 + pause / 10, name=f"other {pause}")
        made.synchronize()
    assert advise([made.trace()], run).steps is None
