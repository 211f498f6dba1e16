"""Programs of Python as benchmarks/traced has them: what advice finds first, and gains as their fixes do."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from isthmus.advice import Advice, advise
from isthmus.record import KIB, MIB, Run
from isthmus.trace import Trace
from tests.synthetic import batching
from tests.synthetic.traces import EVERYTHING, Program
from tests.synthetic.windowed import in_windows

HOST, STAGED, DEVICE = (0x1000_0000_0000 * place for place in range(1, 4))
# Of a call from Python, and of what an interpreter does between two.
LAUNCH, BETWEEN = 2e-6, 4e-6
Seconds = Callable[[str, str, int], float]
Recorded = Callable[[Trace], Trace]


def check(
    broken: Program,
    fixed: Program,
    run: Run,
    rule: str,
    knows: Any = EVERYTHING,
    recorded: Recorded = lambda trace: trace,
) -> Advice:
    """The first finding is of the rule, and gains what the fixed program gains; nothing is wrong with that one."""
    advice = advise([recorded(broken.trace(knows))], run)
    top = advice.findings[0]
    assert (top.rule, top.level) == (rule, "ATTENTION"), [(each.rule, each.gain_seconds) for each in advice.findings]
    assert top.gain_seconds
    assert top.gain_seconds.median == pytest.approx(broken.span_seconds - fixed.span_seconds, rel=0.25)
    return advice


def launch(program: Program, seconds: float, count: int = 1) -> None:
    for _ in range(count):
        program.own(BETWEEN)
        program.kernel(seconds)


def send(program: Program, size: int, seconds: Seconds, host: int, *, pinned: bool, device: int = DEVICE) -> None:
    """`.to("cuda", non_blocking=pinned)`."""
    kind = "pinned" if pinned else "pageable"
    program.own(BETWEEN)
    program.copy(size, seconds(kind, "h2d", size), kind=kind, call="cudaMemcpyAsync", host=host, device=device)
    if not pinned:
        program.synchronize()


def loader(seconds: Seconds, *, fixed: bool) -> Program:
    program = Program()
    for step in range(60):
        send(program, 64 * MIB, seconds, HOST + step % 4 * 64 * MIB, pinned=fixed)
        launch(program, 2.7e-3, 3)
    program.synchronize()
    return program


def item(_: Seconds, *, fixed: bool) -> Program:
    program = Program()
    for step in range(100):
        launch(program, 3e-6, 200)
        launch(program, 0.43e-3)
        if not fixed or step % 50 == 49:
            # torch fetches a number into pinned memory, and waits.
            program.copy(4, 8e-6, direction="d2h", call="cudaMemcpyAsync", host=HOST, device=DEVICE)
            program.synchronize()
    program.synchronize()
    return program


def blocks(_: Seconds, *, fixed: bool) -> Program:
    program, order, moved, size = Program(), random.Random(0), 2048, 32 * KIB
    packing = batching.in_one_call(size, moved)
    for _step in range(5):
        if fixed:
            program.copy(moved * size, packing, call="cudaMemcpyAsync", host=STAGED, device=DEVICE)
        else:
            for source, place in zip(order.sample(range(8192), moved), order.sample(range(4096), moved), strict=True):
                program.own(9e-6)
                program.copy(
                    size, 6e-6, call="cudaMemcpyAsync", host=HOST + source * size, device=DEVICE + place * size
                )
        launch(program, 1e-4)
        program.synchronize()
    return program


def checkpoint(seconds: Seconds, *, fixed: bool) -> Program:
    program, size = Program(), 40 * MIB
    for step in range(1, 31):
        launch(program, 3e-5, 6)
        if step % 5:
            continue
        for number in range(6):
            # Two checkpoints are there at a time; each of fresh pages, which the driver touches first.
            host = HOST + (number + (step // 5) % 2 * 6) * 2 * size
            kind, took = ("pinned", seconds("pinned", "d2h", size)) if fixed else ("pageable", size / 1.5e9)
            program.copy(size, took, direction="d2h", kind=kind, call="cudaMemcpyAsync", host=host, device=DEVICE)
            if not fixed:
                program.synchronize()
        program.synchronize()
    return program


def offload(seconds: Seconds, *, fixed: bool) -> Program:
    program = Program()
    for layer in range(8 * 16):
        send(program, 64 * MIB, seconds, HOST + layer % 8 * 64 * MIB, pinned=fixed)
        launch(program, 1.4e-3)
    program.synchronize()
    return program


def batches(_: Seconds, *, fixed: bool, late: float = 0.0) -> Program:
    """As JAX: copies through pinned memory of its own, and a wait that is no call of the driver.

    It may ask for the copy when the kernels have ended, so long after.
    """
    program = Program()
    for step in range(100):
        program.own(2.6e-3)
        program.copy(4 * MIB, 9e-5, call="cuMemcpyHtoDAsync_v2", host=STAGED, device=DEVICE, stream=1)
        ends = max(program.kernel(0.1e-3) + 0.1e-3 for _ in range(40))
        if not fixed or step % 50 == 49:
            if late:
                program.own(ends + late - program.now)
            program.copy(4, 8e-6, direction="d2h", call="cuMemcpyDtoHAsync_v2", host=STAGED, device=DEVICE)
            program.own(max(ends + 3e-5 - program.now, 0.0))
    return program


def trips(seconds: Seconds, *, fixed: bool) -> Program:
    """As CuPy: `asnumpy` into new memory, and `asarray` through pinned memory of its own."""
    program, size = Program(), 32 * MIB
    for step in range(40):
        launch(program, 3e-5)
        if fixed:
            continue
        host, place = HOST + step % 2 * 2 * size, DEVICE + step % 2 * size
        fetched: dict[str, Any] = {"direction": "d2h", "kind": "pageable", "call": "cudaMemcpyAsync", "content": step}
        program.copy(size, size / 1.5e9, host=host, device=place, **fetched)
        program.own(size / 10e9)
        took = seconds("pinned", "h2d", size)
        program.copy(size, took, call="cudaMemcpyAsync", host=STAGED, device=place + size, content=step)
    program.synchronize()
    return program


@pytest.mark.parametrize(
    ("made", "rule"),
    [
        (loader, "pageable"),
        (item, "waits"),
        (blocks, "small-copies"),
        (checkpoint, "pageable"),
        (offload, "pageable"),
        (batches, "waits"),
        (partial(batches, late=4e-4), "waits"),
    ],
)
@pytest.mark.parametrize(
    ("knows", "recorded"),
    [
        (EVERYTHING, lambda trace: trace),
        (EVERYTHING - {"addresses", "allocations", "contents"}, lambda trace: trace),
        (EVERYTHING, in_windows),
    ],
    ids=["whole", "profiled", "windows"],
)
def test_the_planted_problem_comes_first(
    run: Run, seconds: Seconds, made: Callable[..., Any], rule: str, knows: Any, recorded: Recorded
) -> None:
    broken, fixed = (made(seconds, fixed=each) for each in (False, True))
    check(broken, fixed, run, rule, knows, recorded)


@pytest.mark.parametrize("new", [True, False])
def test_memory_that_is_new_each_time_is_not_to_be_locked_where_it_is(run: Run, seconds: Seconds, new: bool) -> None:
    program, size = Program(), 40 * MIB
    took = size / 1.5e9 if new else seconds("pageable", "d2h", size)
    for copy in range(36):
        host = HOST + copy % 6 * 2 * size
        program.copy(size, took, direction="d2h", kind="pageable", host=host, device=DEVICE)
    advice = advise([program.trace()], run)
    top = advice.findings[0]
    assert top.rule == "pageable"
    assert ("new memory each time" in top.cause) is new
    assert ("cudaHostRegister" in top.change) is not new
    assert ("cudaMallocHost" in top.change) is new
    # The machine is as fast as the run says.
    assert "slow-copies" not in {finding.rule for finding in advice.findings}


def test_contents_tell_of_round_trips_through_memory_of_the_library(run: Run, seconds: Seconds) -> None:
    broken, fixed = (trips(seconds, fixed=each) for each in (False, True))
    gain = check(broken, fixed, run, "round-trip").findings[0].gain_seconds
    # What the host copied into that memory counts, too.
    assert gain
    assert gain.median == pytest.approx(broken.span_seconds - fixed.span_seconds, rel=0.05)
    # Without them it is memory that is new each time.
    check(broken, fixed, run, "pageable", EVERYTHING - {"contents"})


def test_the_rank_that_gains_most_counts_and_what_its_library_exchanges_is_let_alone(
    run: Run, seconds: Seconds
) -> None:
    def ranks(*, fixed: bool) -> list[Any]:
        found = []
        for rank in range(2):
            program = Program(rank)
            for _ in range(50):
                send(program, 64 * MIB, seconds, HOST, pinned=fixed)
                launch(program, 2e-4, 4)
                # Gloo fetches gradients into pinned memory of its own, on a stream of its own, and sends them back.
                program.synchronize()
                for way in ("d2h", "h2d"):
                    where: dict[str, Any] = {"host": STAGED, "device": DEVICE, "stream": 1}
                    program.copy(256 * KIB, 2e-5, direction=way, call="cudaMemcpyAsync", **where)
                    program.synchronize()
                    program.own(5e-4)
                launch(program, 1e-5, 2)
            found.append(program)
        return found

    broken, fixed = ranks(fixed=False), ranks(fixed=True)
    advice = advise([each.trace() for each in broken], run)
    top = advice.findings[0]
    assert top.rule == "pageable"
    assert top.calls == 100
    assert top.gain_seconds
    assert top.gain_seconds.median == pytest.approx(broken[0].span_seconds - fixed[0].span_seconds, rel=0.25)


@pytest.mark.parametrize("recorded", [lambda trace: trace, in_windows], ids=["whole", "windows"])
def test_nothing_is_wrong_with_batches_sent_ahead(run: Run, seconds: Seconds, recorded: Recorded) -> None:
    program = Program()
    for step in range(60):
        program.copy(
            32 * MIB,
            seconds("pinned", "h2d", 32 * MIB),
            call="cudaMemcpyAsync",
            host=HOST + step % 3 * 32 * MIB,
            device=DEVICE + step % 3 * 32 * MIB,
            stream=1,
        )
        launch(program, 1.4e-3, 4)
        if step > 2:
            # Until the step three before this one has ended.
            begin = program.now
            program.call("cudaEventSynchronize", max((step - 2) * 4 * 1.4e-3 - begin, 1e-6))
    program.synchronize()
    assert not [each for each in advise([recorded(program.trace())], run).findings if each.level == "ATTENTION"]
