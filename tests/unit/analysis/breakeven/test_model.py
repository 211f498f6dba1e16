"""Derived totals: each way's costs put together from those of single steps, and reasons where one is missing."""

from dataclasses import replace
from types import ModuleType

import msgspec
import pytest

from isthmus.analysis.breakeven.model import Derivation, Missing, derived_totals
from isthmus.analysis.breakeven.thresholds import Breakeven, Contest
from isthmus.record import KIB, MIB, Case, Run

CASES = ("round_trip", "reduction")
DERIVABLE = ("pageable", "pinned", "registered", "touched_registered", "staging", "mapped", "managed_prefetch")


def parts(builder: ModuleType, machine: object | None = None) -> list[Case]:
    known = machine or builder.H200
    return [*builder.bandwidth(known), *builder.allocation(known)]


def derive(run: Run) -> Derivation:
    return derived_totals(run, 4 * KIB, 128 * MIB, CASES)


@pytest.fixture(scope="module")
def derived(synthetic: ModuleType, synthetic_breakeven: ModuleType) -> Derivation:
    return derive(synthetic.run(parts(synthetic_breakeven)))


@pytest.mark.parametrize("uses", [1, 2, 1000])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [4 * KIB, 64 * KIB, 256 * KIB, 16 * MIB])
def test_differences_between_ways_are_the_true_ones(
    derived: Derivation, synthetic_breakeven: ModuleType, case: str, uses: int, size: int
) -> None:
    """Of the totals only differences mean something, because what all ways share is left out."""
    machine = synthetic_breakeven.H200
    base = derived.totals[case, "pageable"].at(uses)[size][0]
    true_base = machine.total(case, "pageable", uses, size)
    for way in DERIVABLE[1:]:
        difference = derived.totals[case, way].at(uses)[size][0] - base
        true = machine.total(case, way, uses, size) - true_base
        # Next to the totals: small differences of large numbers are known no better than these.
        scale = abs(derived.totals[case, way].at(uses)[size][0]) + abs(base)
        # Mapped memory is compared by the launch of a kernel alone, and not by what it takes on the device's memory.
        slack = uses * (1e-6 + size * 2 / 4.8e12) if way == "mapped" else 0.0
        assert difference == pytest.approx(true, abs=0.02 * scale + slack), way


def test_a_wait_counts_once_for_a_use(synthetic: ModuleType, synthetic_breakeven: ModuleType) -> None:
    machine = synthetic_breakeven.H200
    cases = parts(synthetic_breakeven)
    there, back = (machine.copies["pinned", direction].seconds(4 * KIB) for direction in ("h2d", "d2h"))
    without = [case for case in cases if case.host_memory not in {"mapped"}]
    totals = derive(synthetic.run(without)).totals
    assert totals["round_trip", "staging"].at(1)[4 * KIB][0] == pytest.approx(there + back - machine.wait, rel=0.02)
    # The result of a reduction is copied after it, so the copy there is never waited for.
    assert totals["reduction", "staging"].at(1)[4 * KIB][0] == pytest.approx(there - machine.wait, rel=0.02)


def test_malloc_recycles_below_its_threshold_and_gives_fresh_pages_from_there_on(
    derived: Derivation, synthetic_breakeven: ModuleType
) -> None:
    setup = {
        size: derived.totals["round_trip", "pageable"].at(1)[size][0]
        - derived.totals["round_trip", "pageable"].further[size][0]
        for size in (64 * KIB, 128 * KIB)
    }
    assert setup[64 * KIB] < 1e-6
    machine = synthetic_breakeven.H200
    fresh = sum(machine.memory["pageable", method].seconds(128 * KIB) for method in ("allocate", "touch", "free"))
    assert setup[128 * KIB] == pytest.approx(fresh, rel=0.02)


def test_the_next_use_of_managed_memory_fetches_what_a_reduction_left_there(derived: Derivation) -> None:
    totals = derived.totals["reduction", "managed_prefetch"]
    first, second = (totals.at(uses)[MIB][0] for uses in (1, 2))
    back = derived.totals["round_trip", "managed_prefetch"].further[MIB][0] - totals.further[MIB][0]
    assert second - first == pytest.approx(totals.further[MIB][0])
    assert abs(back) < 0.1 * totals.further[MIB][0]


def test_copies_of_data_in_caches_count_before_those_of_bandwidth(
    synthetic: ModuleType, synthetic_breakeven: ModuleType
) -> None:
    cases = [case for case in parts(synthetic_breakeven) if case.host_memory != "mapped"]
    copies = dict(synthetic_breakeven.H200_COPIES)
    copies["pinned", "h2d"] = synthetic_breakeven.Cost(7.4e-6, 1 / 80e9)
    faster = synthetic_breakeven.bandwidth(
        replace(synthetic_breakeven.H200, copies=copies), sizes=[4 * KIB, MIB, 16 * MIB]
    )
    cached = [
        msgspec.structs.replace(case, experiment="breakeven")
        for case in faster
        if (case.host_memory, case.direction) == ("pinned", "h2d")
    ]
    found = derive(synthetic.run([*cases, *cached]))
    totals = found.totals["reduction", "staging"].at(1)
    wait = synthetic_breakeven.H200.wait
    for size, cost in ((MIB, copies["pinned", "h2d"]), (64 * MIB, synthetic_breakeven.H200_COPIES["pinned", "h2d"])):
        assert totals[size][0] == pytest.approx(cost.seconds(size) - wait, rel=0.03)


def test_a_kernel_cancels_where_the_device_shares_the_hosts_memory(
    synthetic: ModuleType, synthetic_breakeven: ModuleType
) -> None:
    run = synthetic.run(parts(synthetic_breakeven), device=synthetic.gpu(link=None, shares_host_memory=True))
    found = Breakeven(derive(run).totals).thresholds[Contest("reduction", 1000, "staging", "mapped")]
    # The kernel is the same on both sides, so mapped memory saves the whole copy and only has to be got once.
    assert found.state == "always"


def test_what_opencl_does_besides_is_said_to_be_missing(synthetic: ModuleType, synthetic_breakeven: ModuleType) -> None:
    found = derive(synthetic.run(parts(synthetic_breakeven), device=synthetic.cpu_device()))
    assert found.missing["round_trip", "mapped"] == found.missing["reduction", "managed"] == Missing("unmap")

    assert ("round_trip", "staging") in found.totals


def test_a_first_touch_counts_where_a_driver_leaves_it_to_its_user(
    synthetic: ModuleType, synthetic_breakeven: ModuleType
) -> None:
    memory = {**synthetic_breakeven.H200_MEMORY, ("pinned", "touch"): synthetic_breakeven.Cost(0.0, 100e-3 / 2**30)}
    machine = replace(synthetic_breakeven.H200, memory=memory)
    totals = [
        derive(synthetic.run(parts(synthetic_breakeven, each), device=device)).totals["reduction", "pinned"].at(1)
        for each, device in (
            (synthetic_breakeven.H200, synthetic.gpu()),
            (machine, synthetic.gpu()),
            (machine, synthetic.cpu_device()),
        )
    ]
    without, with_touch, with_touch_on_cpu = (each[64 * MIB][0] for each in totals)
    assert with_touch - without == pytest.approx(100e-3 / 16, rel=0.1)
    assert with_touch_on_cpu == pytest.approx(with_touch, rel=0.05)


def test_ways_without_a_cost_say_which_one_is_missing(synthetic: ModuleType, synthetic_breakeven: ModuleType) -> None:
    cases = [case for case in parts(synthetic_breakeven) if (case.host_memory, case.method) != ("pinned", "free")]
    found = derive(synthetic.run([case for case in cases if case.host_memory != "mapped"]))

    assert found.missing["round_trip", "managed"] == Missing("faults")
    # A staging buffer is there, so it costs no allocation.
    assert set(found.totals) == {
        (case, way)
        for case in CASES
        for way in ("pageable", "registered", "touched_registered", "staging", "managed_prefetch")
    }


def test_nothing_is_derived_beyond_the_sizes_that_were_measured(
    synthetic: ModuleType, synthetic_breakeven: ModuleType
) -> None:
    small = [case for case in synthetic_breakeven.allocation() if case.bytes <= 16 * MIB]
    totals = derive(synthetic.run([*synthetic_breakeven.bandwidth(), *small])).totals
    assert max(totals["round_trip", "pinned"].at(1)) == 16 * MIB
    assert max(totals["round_trip", "staging"].at(1)) == 128 * MIB


def test_a_run_without_costs_derives_nothing(synthetic: ModuleType, synthetic_breakeven: ModuleType) -> None:
    found = derive(synthetic.run(synthetic_breakeven.breakeven(sizes=[MIB])))
    assert found.totals == {}
    assert {way for _, way in found.missing} == {*DERIVABLE, "managed"}
