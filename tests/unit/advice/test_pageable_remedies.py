"""Which way is said about pageable copies: by whether their memory stays, is new each time, or cannot be told."""

import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from isthmus.advice import Finding, advise
from isthmus.advice.rates import Rates
from isthmus.advice.rules.pageable import _once
from isthmus.advice.thresholds import GAIN_A_BYTE, LIBRARY_START_SECONDS
from isthmus.record import MIB, Cpu, Direction, Run
from isthmus.trace import Intervals, Trace
from tests.synthetic import breakeven
from tests.synthetic import runs as synthetic
from tests.synthetic.traces import EVERYTHING, Program

SIZE, STEPS = 64 * MIB, 40
HOST, DEVICE = 0x1000_0000_0000, 0x2000_0000_0000


def of(trace: Any, run: Run) -> Finding:
    return next(finding for finding in advise([trace], run).findings if finding.rule == "pageable")


def gained(finding: Finding) -> float:
    assert finding.gain_seconds
    return finding.gain_seconds.median


def loop(each: float, *, new: bool, direction: str = "h2d", own: float = 20e-3, kernel: float = 1e-4) -> Program:
    """Batches from the same memory or from new one each time."""
    program = Program()
    for step in range(STEPS):
        program.own(own)
        host = HOST + new * step * SIZE
        program.copy(
            SIZE, each, kind="pageable", direction=direction, host=host, device=DEVICE, site="train.py:9 batch"
        )
        program.kernel(kernel)
        program.synchronize()
    return program


def held(machine: Any, kind: str) -> float:
    return sum(float(machine.memory[kind, phase].seconds(SIZE)) for phase in ("allocate", "free"))


def test_a_thread_fills_pinned_buffers_with_what_is_new_each_time(run: Run, seconds: Callable[..., float]) -> None:
    slow, fast = seconds("pageable", "h2d", SIZE), seconds("pinned", "h2d", SIZE)
    new = of(loop(slow, new=True).trace(), run)
    assert "DataLoader(pin_memory=True)" in new.change
    assert new.lines == "pageable-new-h2d"
    buffers = 2 * held(breakeven.H200, "pinned")
    assert gained(new) == pytest.approx(STEPS * (slow - fast) - buffers, rel=0.03)
    same = of(loop(slow, new=False).trace(), run)
    assert "DataLoader" not in same.change
    assert "cudaHostRegister" in same.change
    assert same.lines == "pageable-same-h2d"


def test_a_thread_that_cannot_keep_up_gains_less(run: Run, seconds: Callable[..., float]) -> None:
    """With nothing beside the copies, filling a buffer is what remains of a step."""
    slow = seconds("pageable", "h2d", SIZE)
    busy = of(loop(slow, new=True).trace(), run)
    idle = of(loop(slow, new=True, own=0.0, kernel=1e-6).trace(), run)
    assert gained(idle) < 0.8 * gained(busy)


def test_both_are_said_where_nothing_tells(run: Run, seconds: Callable[..., float]) -> None:
    program = loop(seconds("pageable", "h2d", SIZE), new=True)
    finding = of(program.trace(EVERYTHING - {"addresses"}), run)
    assert "If the memory is new each time" in finding.change
    assert "Register" in finding.change


@pytest.mark.parametrize("addresses", [True, False])
def test_fetching_into_new_pages_is_told_by_addresses_or_by_the_rate(
    run: Run, seconds: Callable[..., float], addresses: bool
) -> None:
    warm, pinned, each = seconds("pageable", "d2h", SIZE), seconds("pinned", "d2h", SIZE), SIZE / 1.5e9
    knows = EVERYTHING - (frozenset() if addresses else {"addresses"})
    finding = of(loop(each, new=True, direction="d2h").trace(knows), run)
    assert "new memory each time" in finding.cause
    assert "1.50 GB/s" in finding.cause
    assert "pinned memory that is kept" in finding.change
    assert "GLIBC_TUNABLES=glibc.malloc.mmap_threshold=134217728:" in finding.change
    assert "keeps freed memory" in finding.change
    assert gained(finding) == pytest.approx(STEPS * (each - pinned), rel=0.05)
    assert STEPS * (each - warm) < gained(finding)
    usual = of(loop(warm, new=False, direction="d2h").trace(knows), run)
    assert "new memory" not in usual.cause
    assert "is kept" not in usual.change


def test_one_copy_into_new_pages_is_worth_no_pinned_memory(run: Run) -> None:
    """What its pages take is in the copy's time, and is not spared once more by memory that is pinned."""
    program, each = Program(), held(breakeven.H200, "pinned") / 2
    program.kernel(1e-3)
    program.copy(SIZE, each, direction="d2h", kind="pageable", host=HOST, device=DEVICE)
    finding = of(program.trace(), run)
    assert finding.gain_seconds is None
    assert finding.level == "note"


def test_new_memory_without_new_pages_is_kept_all_the_same(run: Run, seconds: Callable[..., float]) -> None:
    finding = of(loop(seconds("pageable", "d2h", SIZE), new=True, direction="d2h").trace(), run)
    assert "pinned memory that is kept" in finding.change
    assert "new memory" not in finding.cause


@pytest.mark.parametrize(
    ("kernel", "stream", "dry"), [(2e-3, 1, True), (2e-3, 0, False), (50e-3, 1, False), (None, 1, False)]
)
def test_streams_that_run_dry_beside_a_blocked_thread_are_named(
    run: Run, kernel: float | None, stream: int, dry: bool
) -> None:
    program = Program()
    for _ in range(STEPS):
        if kernel is not None:
            program.kernel(kernel, stream=stream)
        program.copy(SIZE, 10e-3, kind="pageable", host=HOST, device=DEVICE)
        program.synchronize()
        program.kernel(1e-3, stream=stream)
        program.synchronize()
    finding = of(program.trace(), run)
    assert ("run dry" in finding.cause) is dry
    if dry:
        assert f"run dry for {STEPS * 8} ms" in finding.cause


@pytest.mark.parametrize("buffers", [1, 3])
def test_pinned_memory_costs_least_where_it_is_cheapest_and_spares_most(run: Run, buffers: int) -> None:
    """The bounds of a difference: the low end of one less the high end of the other, and the other way round."""
    rates = Rates(run)
    pinned, spared = rates.held("pinned", SIZE), rates.held("pageable", SIZE)
    assert spared[1] < spared[0] < spared[2]
    median, low, high = _once(rates, "pinned", SIZE, buffers) / buffers
    assert median == pytest.approx(pinned[0] - spared[0])
    assert low == pytest.approx(pinned[1] - spared[2])
    assert high == pytest.approx(pinned[2] - spared[1])


@pytest.mark.parametrize("fresh", [True, False])
def test_accelerate_is_a_cure_without_a_change(seconds: Callable[..., float], fresh: bool) -> None:
    """Priced by what the library reaches with fresh memory and with memory in use; small copies stay the driver's."""
    library: dict[tuple[str, Direction], float] = {
        ("pageable", "h2d"): 50e9,
        ("pageable", "d2h"): 40e9,
        ("untouched", "d2h"): 20e9,
    }
    run = synthetic.run([*breakeven.everything(), *breakeven.library(library)])
    program = Program()
    slow = SIZE / 1.5e9 if fresh else seconds("pageable", "d2h", SIZE)
    for step in range(STEPS):
        program.copy(SIZE, slow, direction="d2h", kind="pageable", host=HOST + step * SIZE, device=DEVICE)
        program.copy(4096, 8e-6, direction="d2h", kind="pageable", host=HOST, device=DEVICE + SIZE)
    finding = of(program.trace(EVERYTHING - {"addresses"}), run)
    assert finding.accelerate_seconds
    # The first copy is the driver's, and the start is paid for once.
    expected = (STEPS - 1) * (
        slow - SIZE / library["untouched" if fresh else "pageable", "d2h"]
    ) - LIBRARY_START_SECONDS
    assert finding.accelerate_seconds.median == pytest.approx(expected, rel=0.05)
    assert finding.change.startswith("Without a change in the program, `isthmus accelerate -- CMD` saves ")


def test_a_few_copies_are_not_worth_the_library_s_start(seconds: Callable[..., float]) -> None:
    rates: dict[tuple[str, Direction], float] = {("pageable", "h2d"): 50e9, ("pageable", "d2h"): 40e9}
    run = synthetic.run([*breakeven.everything(), *breakeven.library({**rates, ("untouched", "d2h"): 20e9})])
    program = Program()
    program.copy(SIZE, SIZE / 1.5e9, direction="d2h", kind="pageable", host=HOST, device=DEVICE)
    finding = of(program.trace(EVERYTHING - {"addresses"}), run)
    assert finding.accelerate_seconds is None
    assert "accelerate" not in finding.change


@pytest.mark.parametrize(("size", "steps"), [(MIB, STEPS), (64 * MIB, 5)])
def test_what_is_not_worth_the_library_s_start_has_its_next_best_remedy(
    seconds: Callable[..., float], size: int, steps: int
) -> None:
    """Also where the library's copies gain a little more than its start, and another remedy more than that."""
    rates: dict[tuple[str, Direction], float] = {("pageable", "h2d"): 54e9, ("pageable", "d2h"): 40e9}
    run = synthetic.run([*breakeven.everything(), *breakeven.library({**rates, ("untouched", "d2h"): 20e9})])
    program, slow = Program(), seconds("pageable", "h2d", size)
    for step in range(steps):
        program.own(1e-3)
        program.copy(size, slow, kind="pageable", host=HOST + step * size, device=DEVICE)
        program.kernel(1e-4)
        program.synchronize()
    finding = of(program.trace(), run)
    assert finding.gain_seconds
    assert "isthmus.copy" not in finding.change


def test_the_library_starts_when_the_accelerator_does(repository: Path) -> None:
    source = (repository / "native" / "accelerator" / "accelerator.cpp").read_text("utf-8")
    match = re.search(r"start_seconds = (\S+), gain_to_device = (\S+), gain_to_host = (\S+);", source)
    assert match
    ours = (LIBRARY_START_SECONDS, GAIN_A_BYTE["h2d"], GAIN_A_BYTE["d2h"])
    assert tuple(map(float, match.groups())) == ours


def test_processes_that_copy_at_the_same_time_share_a_link(run: Run, seconds: Callable[..., float]) -> None:
    """Two ranks of one device: pinned memory gains each of them less than it gains one alone."""
    slow, fast = seconds("pageable", "h2d", SIZE), seconds("pinned", "h2d", SIZE)
    alone, other = loop(slow, new=False).trace(), loop(slow, new=False)
    other.process = 1
    shared = merged(alone, other.trace())
    assert gained(of(alone, run)) - gained(of(shared, run)) == pytest.approx(STEPS * fast, rel=0.02)
    elsewhere = replace(shared, copies=replace(shared.copies, device=shared.copies.process))
    assert gained(of(elsewhere, run)) == pytest.approx(gained(of(alone, run)))


def merged(one: Trace, other: Trace) -> Trace:
    """Both processes in one trace, which have no kernels then."""
    calls = len(one.calls)
    second = replace(other.copies, call=other.copies.call + calls)

    def joined(first: Any, then: Any) -> Any:
        columns = {
            each.name: np.concatenate([getattr(first, each.name), getattr(then, each.name)]) for each in fields(first)
        }
        return type(first)(**columns)

    nothing = Intervals.empty()
    return replace(
        one, copies=joined(one.copies, second), calls=joined(one.calls, other.calls), kernels=nothing, memsets=nothing
    )


def test_what_no_library_moves_is_not_accelerated(run: Run, seconds: Callable[..., float]) -> None:
    finding = of(loop(seconds("pageable", "h2d", SIZE), new=False).trace(), run)
    assert finding.accelerate_seconds is None
    assert "accelerate" not in finding.change


def test_torch_is_spoken_to_in_its_own_words(run: Run, seconds: Callable[..., float]) -> None:
    finding = of(loop(seconds("pageable", "h2d", SIZE), new=False).trace(maker="kineto"), run)
    assert ".pin_memory()" in finding.change
    assert "cudaHostRegister" not in finding.change


ARRAY = "/venv/lib/python3.12/site-packages/cupy/_creation/from_data.py:88 asarray"


def arrays(*, site: str = ARRAY, own: float, fetched: float = 0.0) -> Program:
    """Arrays of NumPy that CuPy sends from pinned memory of its own, and fetches if `fetched` seconds are given."""
    program = Program()
    for _ in range(STEPS):
        program.own(own)
        program.copy(
            SIZE, 2e-3, kind="pinned", call="cudaMemcpyAsync", device=DEVICE, site=f"{site} < images.py:9 step"
        )
        program.kernel(1e-4)
        program.synchronize()
        if fetched:
            program.copy(
                SIZE, fetched, kind="pageable", direction="d2h", host=HOST, device=DEVICE, site="images.py:9 step"
            )
    return program


def test_what_cupy_copies_into_pinned_memory_of_its_own_is_the_hosts_time(run: Run) -> None:
    memcpy = float(Rates(run).memcpy(np.array([SIZE]))[0, 0])
    finding = of(arrays(own=3 * memcpy).trace(), run)
    assert finding.calls == STEPS
    assert "CuPy copies 40 arrays" in finding.cause
    assert "The driver copies pageable memory" not in finding.cause
    assert "device.set(array)" in finding.change
    # No call was before the first. What else the host does it still does, and it copies no longer than there is time.
    shorter = of(arrays(own=memcpy / 2).trace(), run)
    assert gained(finding) - gained(shorter) == pytest.approx((STEPS - 1) * memcpy / 2, rel=0.02)
    assert gained(finding) == pytest.approx((STEPS - 1) * memcpy, rel=0.2)


@pytest.mark.parametrize("site", ["images.py:9 step", "cupy_images.py:3 asarray"])
def test_pinned_memory_that_the_program_fills_is_right(run: Run, site: str) -> None:
    advice = advise([arrays(site=site, own=30e-3).trace()], run)
    assert "pageable" not in {finding.rule for finding in advice.findings}


def test_both_directions_of_cupy_are_one_finding(run: Run) -> None:
    each = SIZE / 1.5e9
    finding = of(arrays(own=30e-3, fetched=each).trace(), run)
    assert finding.calls == 2 * STEPS
    assert "new memory each time" in finding.cause
    assert "CuPy copies" in finding.cause


@pytest.mark.parametrize("freed", [1.0, 0.25])
def test_memory_that_is_kept_is_not_freed_either(run: Run, freed: float) -> None:
    """New pages at an address that was filled before: it was freed meanwhile, if the host had time for that."""
    price = float(Rates(run).freed(np.array([SIZE]))[0, 0])
    program = loop(SIZE / 1.5e9, new=False, direction="d2h", own=price * freed)
    unknown = of(program.trace(EVERYTHING - {"addresses"}), run)
    finding = of(program.trace(), run)
    assert gained(finding) - gained(unknown) == pytest.approx((STEPS - 1) * price * freed, rel=0.02)
    # What keeps freed memory spares that, too.
    assert "keeps freed memory" in finding.change
    assert finding.change != unknown.change


def test_memory_that_stays_is_not_freed(run: Run, seconds: Callable[..., float]) -> None:
    warm, pinned = seconds("pageable", "d2h", SIZE), seconds("pinned", "d2h", SIZE)
    finding = of(loop(warm, new=False, direction="d2h").trace(), run)
    assert gained(finding) <= STEPS * (warm - pinned)


def gathered(slow: float, work: tuple[float, int, float], own: float = 20e-3) -> Program:
    """Batches that the host gathers before each copy, always at one address."""
    program = Program()
    for _ in range(STEPS):
        program.own(own)
        program.copy(SIZE, slow, kind="pageable", host=HOST, device=DEVICE, site="train.py:9 batch", work=work)
        program.kernel(1e-4)
        program.synchronize()
    return program


@pytest.mark.parametrize("pages", [SIZE // 4096, SIZE // 4096 // 16, SIZE // (2 * MIB)], ids=["4 KiB", "by 16", "huge"])
def test_pages_that_the_program_makes_before_each_copy_are_spared_too(
    run: Run, seconds: Callable[..., float], pages: int
) -> None:
    """By one thread, or by sixteen of which this one makes its part; of either size."""
    slow, kernel = seconds("pageable", "h2d", SIZE), 8e-3
    finding = of(gathered(slow, (kernel, pages, 1.0)).trace(), run)
    assert "in the operating system for 8.00 ms" in finding.cause
    assert "Allocate the memory once with cudaMallocHost" in finding.change
    assert "GLIBC_TUNABLES" in finding.change
    in_torch = of(gathered(slow, (kernel, pages, 1.0)).trace(maker="kineto"), run)
    assert (finding.lines, in_torch.lines) == ("pageable-new-h2d", "pageable-made-h2d")
    without = of(gathered(slow, (kernel, 3, 1.0)).trace(), run)
    assert "in the kernel" not in without.cause
    fast, once = seconds("pinned", "h2d", SIZE), 50e-3
    # No call was before the first copy.
    expected = STEPS * (slow - fast) + (STEPS - 1) * kernel
    assert expected - once < gained(finding) <= expected
    assert finding.gain_seconds
    assert finding.gain_seconds.low < STEPS * (slow - fast)
    # Other threads may have been at it for all of the 20 ms before each copy.
    assert finding.gain_seconds.high > expected + 0.9 * (STEPS - 1) * (20e-3 - kernel) - once


def test_the_kernel_was_not_longer_at_it_than_the_host_had_time(run: Run, seconds: Callable[..., float]) -> None:
    slow = seconds("pageable", "h2d", SIZE)
    short = gained(of(gathered(slow, (50e-3, SIZE // 4096, 1.0), own=4e-3).trace(), run))
    long = gained(of(gathered(slow, (50e-3, SIZE // 4096, 1.0), own=9e-3).trace(), run))
    assert long - short == pytest.approx((STEPS - 1) * 5e-3, rel=0.02)


@pytest.mark.parametrize("threads", [1.0, 15.5])
def test_nothing_is_promised_of_accelerate_where_all_processors_are_busy(
    seconds: Callable[..., float], threads: float
) -> None:
    rates: dict[tuple[str, Direction], float] = {("pageable", "h2d"): 50e9, ("pageable", "d2h"): 40e9}
    run = synthetic.run([*breakeven.everything(), *breakeven.library({**rates, ("untouched", "d2h"): 20e9})])
    host = msgspec.structs.replace(run.fingerprint.host, cpu=Cpu(logical=16, allowed=16))
    run = msgspec.structs.replace(run, fingerprint=msgspec.structs.replace(run.fingerprint, host=host))
    finding = of(gathered(seconds("pageable", "h2d", SIZE), (0.0, 0, threads)).trace(), run)
    busy = threads > 12
    assert (finding.accelerate_seconds is None) == busy
    assert ("runs 16 threads on 16 processors" in finding.pricing) == busy
