"""The repeated phase of a program: its step, what comes before, and what a change makes of a step."""

from collections.abc import Callable
from itertools import product
from string import ascii_lowercase

import pytest

from isthmus.advice import advise, parse_gain_gate
from isthmus.advice.links import generation_of
from isthmus.advice.named_steps import named_steps
from isthmus.advice.rates import Rates
from isthmus.advice.scene import scenes
from isthmus.record import MIB, Run
from isthmus.trace import Trace
from tests.synthetic.traces import Program

HOST, DEVICE = 0x1000_0000_0000, 0x2000_0000_0000
SIZE, STEPS = 64 * MIB, 40


def program(slow: float, *, saves: bool = False) -> Trace:
    """Two seconds of start-up, then steps of a pageable copy and two kernels, of which one is the optimizer's."""
    found = Program()
    found.kernel(1e-3, name="initialise")
    found.own(2.0)
    for step in range(STEPS):
        found.copy(SIZE, slow, kind="pageable", host=HOST, device=DEVICE)
        for _ in range(3):
            found.kernel(1e-3, name="layer")
        found.kernel(1e-3, name="optimizer")
        found.synchronize()
        if saves and step % 10 == 9:
            found.own(0.02)
    return found.trace()


@pytest.mark.parametrize("saves", [False, True])
def test_a_step_is_told_with_what_it_would_take(run: Run, seconds: Callable[..., float], saves: bool) -> None:
    slow, fast = (seconds(kind, "h2d", SIZE) for kind in ("pageable", "registered"))
    steps = advise([program(slow, saves=saves)], run).steps
    assert steps
    assert steps.gain_seconds
    assert steps.seconds == pytest.approx(slow + 4e-3, rel=0.02)
    assert steps.before_seconds > 2.0
    # Those around a saved checkpoint are none.
    assert steps.count == STEPS - (3 if saves else 0)
    # Pinned, and at best beside the kernels.
    assert 4e-3 <= steps.new_seconds <= 1.05 * (fast + 4e-3)


def test_a_share_is_of_the_steps_unless_told_otherwise(run: Run, seconds: Callable[..., float]) -> None:
    advice = advise([program(seconds("pageable", "h2d", SIZE))], run)
    assert advice.steps
    assert advice.steps.gain_seconds
    assert advice.gain_seconds
    of_steps = advice.steps.gain_seconds.median / advice.steps.steady_seconds
    of_total = advice.gain_seconds.median / advice.span_seconds
    assert of_steps > 2 * of_total
    gate = f"gain:{100 * (of_steps + of_total) / 2:.2f}%"
    assert parse_gain_gate(gate).fails(advice)
    assert not parse_gain_gate(gate, of_total=True).fails(advice)


def test_a_program_without_a_loop_has_no_steps(run: Run) -> None:
    found = Program()
    for pause in (0.1, 1e-3, 0.7, 0.02, 0.3, 1e-4, 0.9):
        found.kernel(1e-3, name=f"kernel {pause}")
        found.own(pause)
    assert advise([found.trace()], run).steps is None


LAYERS, LAYER, IDLE = 24, 4e-3, 90e-3


def batches(count: int = 5, *, marked: bool = True, named: str = "", saved: float = 0.0) -> Trace:
    """Batches of equal layers with an idle device between them, and a copy at the end of each where they are marked."""
    made = Program()
    for batch in range(count):
        begin = made.now
        for _ in range(LAYERS):
            made.kernel(LAYER / 2, name="attention")
            made.kernel(LAYER / 2, name="mlp")
        if marked:
            made.copy(2_900_000, 60e-6, direction="d2h", call="cudaMemcpyAsync", host=HOST, device=DEVICE)
        made.synchronize()
        made.own(IDLE + (saved if batch % 2 else 0.0))
        if named:
            made.range(named.format(number=batch), begin)
    return made.trace()


@pytest.mark.parametrize("marked", [True, False])
def test_a_layer_is_no_step(run: Run, marked: bool) -> None:
    advice = advise([batches(marked=marked)], run)
    assert advice.steps
    assert advice.steps.seconds == pytest.approx(LAYERS * LAYER + IDLE, rel=0.02)
    assert advice.steps.count == 5
    # Whatever is promised, the kernels remain.
    assert advice.steps.new_seconds >= LAYERS * LAYER
    assert advice.gain_seconds
    assert advice.gain_seconds.high <= advice.span_seconds - 5 * LAYERS * LAYER + 1e-9


@pytest.mark.parametrize(
    "name", ["ProfilerStep#{number}", "execute_context_{number}(7)", "train step {number}", "batch", "anything at all"]
)
def test_what_the_program_named_is_a_step(run: Run, name: str) -> None:
    # So irregular that no distance tells.
    steps = advise([batches(4, marked=False, named=name, saved=70e-3)], run).steps
    assert steps
    assert steps.count == 4
    assert steps.seconds > LAYERS * LAYER + IDLE


@pytest.mark.parametrize("name", ["execute_plan {number}", "execute_context {number}", "ProfilerStepper {number}"])
def test_two_short_ranges_of_a_long_program_are_no_steps(run: Run, name: str) -> None:
    made = Program()
    for number in range(2):
        begin = made.now
        made.kernel(0.5e-3)
        made.own(1e-3)
        made.range(name.format(number=number), begin)
    for _ in range(20):
        made.own(0.2)
        made.kernel(0.1 * (1 + made.now % 0.3))
    made.synchronize()
    assert named_steps(scenes([made.trace()], Rates(run))[0]) is None


@pytest.mark.parametrize("name", ["ProfilerStep#{number}", "execute_new_{number}_cached_7"])
def test_what_is_launched_after_the_last_named_step_is_not_its(run: Run, name: str) -> None:
    made = Program()
    for number in range(3):
        begin = made.now
        made.kernel(4e-3)
        made.own(5e-3)
        made.range(name.format(number=number), begin)
    made.own(2.0)
    made.kernel(1.0)
    made.synchronize()
    steps = named_steps(scenes([made.trace()], Rates(run))[0])
    assert steps
    assert (steps[1] - steps[0]).tolist() == pytest.approx([5e-3] * 3, rel=0.01)


def test_a_step_is_known_among_any_number_of_names(run: Run) -> None:
    made = Program()
    letters = [f"{first}{second}{third}" for first, second, third in product(ascii_lowercase[:12], repeat=3)]
    for number in range(3):
        begin = made.now
        for name in letters:
            part = made.now
            made.own(1e-6)
            made.range(name, part)
        made.kernel(1e-3)
        made.synchronize()
        made.range(f"ProfilerStep#{number}", begin)
    steps = named_steps(scenes([made.trace()], Rates(run))[0])
    assert steps
    assert steps[0].size == 3


def test_steps_that_launch_nothing_are_none(run: Run) -> None:
    made = Program()
    for step in range(3):
        begin = made.now
        for _ in range(10):
            made.kernel(1e-3)
        made.synchronize()
        made.own(5e-3)
        made.range(f"ProfilerStep#{step}", begin)
    begin = made.now
    made.own(1e-5)
    made.range("ProfilerStep#3", begin)
    steps = advise([made.trace()], run).steps
    assert steps
    assert steps.count == 3
    assert steps.seconds == pytest.approx(15e-3, rel=0.05)
    assert 0 <= steps.before_seconds < 1e-3


def test_a_gate_says_the_share_that_it_judges(run: Run, seconds: Callable[..., float]) -> None:
    advice = advise([program(seconds("pageable", "h2d", SIZE))], run)
    assert advice.steps
    assert advice.steps.gain_seconds
    of_steps = 100 * advice.steps.gain_seconds.median / advice.steps.steady_seconds
    assert parse_gain_gate("gain:10%").gained(advice) == f"{of_steps:.1f} % of the steps"
    assert "% of the time traced" in parse_gain_gate("gain:10%", of_total=True).gained(advice)
    assert parse_gain_gate("gain:10ms").gained(advice).endswith(" ms")


@pytest.mark.parametrize(
    ("name", "generation"),
    [
        ("Tesla T4", 3),
        ("Tesla V100-DGXS-32GB", 3),
        ("NVIDIA A100-SXM4-80GB", 4),
        ("NVIDIA GeForce RTX 4090", 4),
        ("NVIDIA H100 80GB HBM3", 5),
        ("AMD Instinct MI300X", 5),
        ("Something else", None),
    ],
)
def test_the_link_of_a_known_board_is_known(name: str, generation: int | None) -> None:
    assert generation_of(name) == generation
