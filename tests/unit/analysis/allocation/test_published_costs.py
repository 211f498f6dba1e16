"""Published figures beside those of a run: only where the run has them, and as they were published."""

from types import ModuleType

import pytest

from isthmus.analysis.allocation.model import allocation_costs
from isthmus.analysis.allocation.published_costs import PublishedCost, published_costs
from isthmus.record import GIB, KIB, MIB, Case


def beside(synthetic: ModuleType, cases: list[Case]) -> dict[str, PublishedCost]:
    costs = allocation_costs(synthetic.run(cases))
    assert costs
    return {each.name: each for each in published_costs(costs)}


def test_every_figure_has_its_size_and_factor(synthetic: ModuleType, synthetic_allocation: ModuleType) -> None:
    found = beside(synthetic, synthetic_allocation.h200(synthetic_allocation.POWERS))
    assert list(found)[:5] == [
        "cudaMallocHost, 1 MiB",
        "cudaMallocHost, 512 MiB",
        "cudaMalloc, 256 B",
        "cudaMalloc, 512 KiB",
        "cudaMalloc, 512 MiB",
    ]
    largest = found["cudaMallocHost, 512 MiB"]
    assert largest.published == (61e-3, 61e-3)
    # 0.5 ms + 512 x 0.36 ms against 61 ms.
    assert largest.factor
    assert largest.factor[0] == pytest.approx(184.8 / 61, rel=0.02)
    assert largest.why.startswith("There the two figures come to 2.19 ms plus 115 us per MiB; here")


def test_sizes_that_the_run_lacks_are_left_out(synthetic: ModuleType, synthetic_allocation: ModuleType) -> None:
    found = beside(synthetic, synthetic_allocation.h200())
    assert "cudaMallocHost, 1 MiB" in found
    assert "cudaMallocHost, 512 MiB" not in found


def test_ratios_are_ranges_over_the_sizes_that_were_published(
    synthetic: ModuleType, synthetic_allocation: ModuleType
) -> None:
    cost = synthetic_allocation.Cost
    truths = {
        ("malloc", "allocate"): cost(1e-6, noise=0.0),
        ("device", "allocate"): cost(10e-6, noise=0.0, step=5.0, step_bytes=4 * MIB),
    }
    cases = synthetic_allocation.cases(truths, [KIB, MIB, 4 * MIB])
    cases += synthetic_allocation.cases({key: cost(1.0) for key in truths}, [GIB])
    found = beside(synthetic, cases)
    assert found["cudaMalloc / malloc < 4 MiB"].here == pytest.approx((10.0, 10.0))
    assert found["cudaMalloc / malloc >= 4 MiB"].here == pytest.approx((50.0, 50.0))
    assert found["cudaMalloc / malloc >= 4 MiB"].factor is None
    assert "cudaFree / free" not in found


def test_a_run_without_these_kinds_has_none(synthetic: ModuleType, synthetic_allocation: ModuleType) -> None:
    truths = {("managed", "allocate"): synthetic_allocation.Cost(1e-6)}
    assert beside(synthetic, synthetic_allocation.cases(truths)) == {}
