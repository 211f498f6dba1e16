"""Pieces and rows of few bytes' alignment are planned with what the run says that it costs, or with a warning."""

from types import ModuleType

import numpy as np
import pytest

from isthmus.plan import PiecesNeed, SectionNeed, answer
from isthmus.record import KIB, Case, Run

# Seconds that a kernel takes more for each byte of pieces aligned to so many.
EXTRA = {1: 25e-12, 4: 6e-12}


def kernel_pairs(synthetic_batching: ModuleType, extra: dict[int, float]) -> list[Case]:
    """Pieces an element larger than those of the grid, from which kernels suffer and copies do not."""
    random = np.random.default_rng(2)
    found = []
    for size, count in ((256, 256), (64 * KIB, 16)):
        for unit, each in extra.items():
            for method in ("kernel", "copies"):
                seconds = synthetic_batching.H200[method](size, count)
                more = each * size * count if method == "kernel" else 0.0
                found.append(synthetic_batching.case(method, size + unit, count, seconds + more, random))
    return found


@pytest.fixture(scope="module")
def grid(synthetic_batching: ModuleType) -> list[Case]:
    sizes = (64, 256, KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB)
    return synthetic_batching.cases(synthetic_batching.H200, sizes, (1, 16, 256, 4096))  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def measured(synthetic: ModuleType, synthetic_batching: ModuleType, grid: list[Case]) -> Run:
    return synthetic.run([*grid, *kernel_pairs(synthetic_batching, EXTRA)])  # type: ignore[no-any-return]


def need(size: int, count: int = 1000) -> PiecesNeed:
    return PiecesNeed(count, size, source="pinned")


def seconds(run: Run, wanted: PiecesNeed, method: str) -> float:
    return next(way.seconds.median for way in answer(run, wanted).ways if way.name == method)


@pytest.mark.parametrize("size", [100, 1000, 12_000])
@pytest.mark.parametrize("unit", [1, 4])
def test_what_the_run_says_of_the_unit_comes_on_top(
    measured: Run, synthetic_batching: ModuleType, size: int, unit: int
) -> None:
    size = size // 16 * 16 + unit
    truth = synthetic_batching.H200["kernel"](size, 1000) + EXTRA[unit] * size * 1000
    assert seconds(measured, need(size), "kernel") == pytest.approx(truth, rel=0.15)


def test_a_method_that_does_not_mind_takes_what_it_takes(measured: Run) -> None:
    odd, even = (seconds(measured, need(size), "copies") for size in (4097, 4112))
    assert odd == pytest.approx(even, rel=0.1)


def test_aligned_pieces_are_planned_as_if_nothing_were_known(
    synthetic: ModuleType, grid: list[Case], measured: Run
) -> None:
    before, after = (answer(run, need(5008)).ways for run in (synthetic.run(grid), measured))
    assert [way.seconds for way in before] == [way.seconds for way in after]


def test_the_next_smaller_unit_stands_for_one_that_was_not_measured(measured: Run) -> None:
    assert seconds(measured, need(5002), "kernel") == pytest.approx(seconds(measured, need(5001), "kernel"), rel=0.02)


def test_without_a_pair_kernels_have_no_time_and_copies_have(synthetic: ModuleType, grid: list[Case]) -> None:
    plan = answer(synthetic.run(grid), need(5002))
    assert "kernel" in plan.unpriced
    assert "copies" in {way.name for way in plan.ways}
    assert plan.fastest is None


def test_a_pitch_counts_like_a_width(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    truths = {
        "section": lambda width, rows: 1e-5 + 2e-8 * rows * (2 if width % 16 else 1),
        "kernel": lambda width, rows: 2e-5 + 1e-9 * rows * width,
    }
    cases = synthetic_strided.grid(truths, [64, 256, KIB], [32, KIB, 4 * KIB])
    cases += synthetic_strided.grid(truths, [264], [KIB])
    run = synthetic.run(cases)
    even, odd = (
        answer(run, SectionNeed(2000, 256, 256, "d2h", "pinned", device_pitch_bytes=pitch)) for pitch in (512, 520)
    )
    times = [next(way.seconds.median for way in plan.ways if way.name == "section") for plan in (even, odd)]
    assert times[1] / times[0] == pytest.approx(1.8, rel=0.15)


def test_what_may_be_chance_costs_nothing(
    synthetic: ModuleType, synthetic_batching: ModuleType, grid: list[Case]
) -> None:
    random = np.random.default_rng(3)
    slower = synthetic_batching.H200["kernel"](256, 256) * 1.01
    noisy = [synthetic_batching.case("kernel", 257, 256, slower, random, noise=0.05)]
    aligned = next(each for each in answer(synthetic.run(grid), need(160, 4000)).ways if each.name == "kernel")
    assert seconds(synthetic.run([*grid, *noisy]), need(161, 4000), "kernel") == pytest.approx(
        aligned.seconds.median, rel=0.03
    )
