"""Conclusions: each appears when the data support it, with their numbers, and not otherwise."""

import re
from types import ModuleType

import msgspec
import pytest

from isthmus.analysis.conclusions import findings, verdict
from isthmus.document.finding import Finding
from isthmus.record import GIB, KIB, MIB, Case, End, Host, Limits, Link, Memory, NumaNode, Placement, Run, Series

PINNED_H2D, PINNED_D2H = ("copy", "h2d", "pinned"), ("copy", "d2h", "pinned")
PAGEABLE_H2D, PAGEABLE_D2H = ("copy", "h2d", "pageable"), ("copy", "d2h", "pageable")


def by_topic(run: Run) -> dict[str, Finding]:
    found = findings(run)
    assert len({finding.topic for finding in found}) == len(found)
    return {finding.topic: finding for finding in found}


def pinned_only(synthetic: ModuleType, **changes: object) -> Run:
    truths = {PINNED_H2D: synthetic.Truth(8e-6, 55e9), PINNED_D2H: synthetic.Truth(8e-6, 54e9)}
    return synthetic.run(synthetic.cases(truths), **changes)  # type: ignore[no-any-return]


def test_every_kind_of_a_full_run_has_its_finding(synthetic: ModuleType) -> None:
    found = by_topic(synthetic.h200())
    kinds = {"pinned", "pageable", "pageable_huge", "write_combined", "registered", "mapped", "managed", "both_ways"}
    assert kinds <= found.keys()
    assert not any(finding.level == "FAULT" for finding in found.values())


def test_findings_come_gravest_first(synthetic: ModuleType) -> None:
    run = synthetic.h200()
    broken = [msgspec.structs.replace(run.cases[0], verified="no"), *run.cases[1:]]
    severities = [finding.level for finding in findings(msgspec.structs.replace(run, cases=broken))]
    assert severities[0] == "FAULT"
    assert severities == sorted(severities, key=["FAULT", "ATTENTION", "note"].index)


def test_pinned_says_rate_and_share_and_below_which_size_to_batch(synthetic: ModuleType) -> None:
    pinned = by_topic(pinned_only(synthetic))["pinned"]
    assert re.search(r"moves 5[45]\.\d GB/s H2D and 5[34]\.\d GB/s D2H, 87 % and 8\d % of the link\.", pinned.text)
    assert re.match(r"Batch copies below 4[234]0 KiB", pinned.cure)


def test_without_a_link_no_share_is_claimed_and_the_reason_is_said(synthetic: ModuleType) -> None:
    found = by_topic(pinned_only(synthetic, device=synthetic.cpu_device()))
    assert "% of the link" not in found["pinned"].text
    assert "no link to compare" in found["no_link"].text
    unknown = by_topic(pinned_only(synthetic, device=synthetic.gpu(link=None)))
    assert "could not be read" in unknown["no_link"].text


def test_erratic_pageable_memory_as_the_sweep_of_bandwidth_test_saw_it(synthetic: ModuleType) -> None:
    # Measured by others with bandwidthTest on PCIe 4.0 x16: every third size or so falls to a third of the rate.
    rates = [9.40, 10.24, 10.30, 3.52, 10.53, 4.55, 10.66, 10.46, 3.39, 3.22, 3.23, 7.77, 10.47, 3.20, 10.27, 10.47]
    rates += [3.23, 11.40, 9.36]
    cases = synthetic.cases({PINNED_H2D: synthetic.Truth(0.0, 25.4e9, 0.001)}, synthetic.SEED_SWEEP)
    for size, rate in zip(synthetic.SEED_SWEEP, rates, strict=True):
        cases += synthetic.cases({PAGEABLE_H2D: synthetic.Truth(0.0, rate * 1e9, 0.001)}, [size])
    pageable = by_topic(synthetic.run(cases))["pageable"]
    assert pageable.level == "note"
    assert "moves 3.20 GB/s to 11.4 GB/s H2D (800 MiB to 3040 MiB, no plateau)" in pageable.text
    assert "H2D: pinned memory is 2.2 to 7.9 times as fast from 160 MiB on." in pageable.text
    assert "one core" in pageable.cause
    assert "Pin or register" in pageable.cure


def test_pageable_as_fast_as_pinned_is_no_warning_and_has_no_fix(synthetic: ModuleType) -> None:
    truths = {key: synthetic.Truth(8e-6, 10e9, 0.02) for key in (PINNED_H2D, PAGEABLE_H2D)}
    pageable = by_topic(synthetic.run(synthetic.cases(truths)))["pageable"]
    assert (pageable.level, pageable.cause, pageable.cure) == ("note", "", "")
    assert "Tied with pinned memory within noise." in pageable.text


def test_repeats_that_differ_are_said_so(synthetic: ModuleType) -> None:
    wild = synthetic.Truth(8e-6, 10e9, 0.02, flips=(1.0, 1.0, 2.5))
    run = synthetic.run(synthetic.cases({PAGEABLE_H2D: wild}), device=synthetic.cpu_device())
    pageable = by_topic(run)["pageable"]
    assert pageable.level == "note"
    assert re.search(r"Repeats of one size \(1 MiB and up\) differ by 2\.\d times", pageable.text)


def test_staging_is_no_cause_on_a_device_that_shares_memory(synthetic: ModuleType) -> None:
    truths = {PINNED_H2D: synthetic.Truth(8e-6, 20e9), PAGEABLE_H2D: synthetic.Truth(8e-6, 10e9)}
    pageable = by_topic(synthetic.run(synthetic.cases(truths), device=synthetic.cpu_device()))["pageable"]
    assert pageable.level == "note"
    assert pageable.cause == ""


@pytest.mark.parametrize(("factor", "expected"), [(1.3, "1.30x H2D"), (1.0, "Tied with pageable memory within noise.")])
def test_huge_pages_help_or_not(synthetic: ModuleType, factor: float, expected: str) -> None:
    truths = {
        PAGEABLE_H2D: synthetic.Truth(0.0, 10e9),
        ("copy", "h2d", "pageable_huge"): synthetic.Truth(0.0, factor * 10e9),
    }
    finding = by_topic(synthetic.run(synthetic.cases(truths)))["pageable_huge"]
    assert expected in finding.text
    assert bool(finding.cure) == (factor > 1)


def test_mapped_memory_names_the_size_up_to_which_the_kernel_wins(synthetic: ModuleType) -> None:
    truths = {PINNED_H2D: synthetic.Truth(8e-6, 50e9), ("kernel", "h2d", "mapped"): synthetic.Truth(4e-6, 40e9)}
    mapped = by_topic(synthetic.run(synthetic.cases(truths)))["mapped"]
    assert "Up to 512 KiB H2D the kernel is faster than a pinned copy." in mapped.text
    assert "0.80x H2D" in mapped.text or "0.81x H2D" in mapped.text


def test_managed_memory_that_is_slow_one_way_is_a_property(synthetic: ModuleType) -> None:
    found = by_topic(synthetic.h200())["managed"]
    assert found.level == "note"
    assert re.search(r"49\.\d GB/s H2D .* 15\.\d GB/s D2H", found.text)


def test_a_kind_measured_without_pinned_memory_still_has_its_rate(synthetic: ModuleType) -> None:
    key = ("prefetch", "h2d", "managed")
    found = by_topic(synthetic.run(synthetic.cases({key: synthetic.Truth(8e-6, 30e9)})))
    assert re.search(r"moves (29\.9|30\.\d) GB/s", found["managed"].text)
    assert "pinned" not in found["managed"].text


def both_ways(synthetic: ModuleType, rate: float, copy_engines: int) -> Finding:
    truths = {
        PINNED_H2D: synthetic.Truth(8e-6, 50e9),
        PINNED_D2H: synthetic.Truth(8e-6, 50e9),
        ("copy", "both", "pinned"): synthetic.Truth(8e-6, rate),
        ("duplex", "h2d", "pinned"): synthetic.Truth(8e-6, rate / 2),
    }
    run = synthetic.run(synthetic.cases(truths), device=synthetic.gpu(copy_engines=copy_engines))
    return by_topic(run)["both_ways"]


def test_both_ways_is_called_a_sum_and_compared_with_one_way(synthetic: ModuleType) -> None:
    finding = both_ways(synthetic, 90e9, 3)
    assert finding.level == "note"
    assert re.search(r"(89\.\d|90\.\d) GB/s both ways in sum, 71 % of the link", finding.text)
    assert re.search(r"(89|90) % of the two directions' own rates added up", finding.text)


def test_directions_that_take_turns_are_a_warning_and_one_copy_engine_its_cause(synthetic: ModuleType) -> None:
    assert both_ways(synthetic, 50e9, 3).level == "ATTENTION"
    assert both_ways(synthetic, 50e9, 3).cause == ""
    assert "Do not count on overlapping" in both_ways(synthetic, 50e9, 3).cure
    assert "single copy engine" in both_ways(synthetic, 50e9, 1).cause


def test_a_rate_above_the_link_is_an_error(synthetic: ModuleType) -> None:
    run = synthetic.run(synthetic.cases({PINNED_H2D: synthetic.Truth(8e-6, 90e9)}))
    finding = by_topic(run)["above_link"]
    assert finding.level == "FAULT"
    assert re.match("A copy was elided.*lspci", finding.cure)
    assert "63.0 GB/s" in finding.text


def test_a_sum_above_one_link_is_no_error(synthetic: ModuleType) -> None:
    run = synthetic.run(synthetic.cases({("copy", "both", "pinned"): synthetic.Truth(8e-6, 99e9)}))
    assert "above_link" not in by_topic(run)


def test_unverified_cases_are_an_error_and_left_out_of_conclusions(synthetic: ModuleType) -> None:
    good = synthetic.cases({PINNED_H2D: synthetic.Truth(8e-6, 50e9)})
    elided = synthetic.cases({PINNED_H2D: synthetic.Truth(8e-6, 900e9)}, [2 * GIB], verified="no")
    elided = [msgspec.structs.replace(case, note="first mismatch at byte 17") for case in elided]
    found = by_topic(synthetic.run([*good, *elided]))
    assert found["verification"].level == "FAULT"
    assert "1 of 32 cases" in found["verification"].text
    assert "2 GiB" in found["verification"].text
    assert "byte 17" in found["verification"].text
    assert "above_link" not in found
    assert re.search(r"moves (49\.9|50\.\d) GB/s", found["pinned"].text)


def test_calls_that_failed_are_no_ordinary_skips(synthetic: ModuleType) -> None:
    run = pinned_only(synthetic)
    refused = synthetic.skips(("copy", "h2d", "managed"), [MIB], "this device has no managed memory")
    assert "calls_failed" not in by_topic(msgspec.structs.replace(run, cases=[*run.cases, *refused]))
    failed = synthetic.skips(("copy", "h2d", "registered"), [MIB, 2 * MIB], "failed: cuMemHostRegister gave 719")
    finding = by_topic(msgspec.structs.replace(run, cases=[*run.cases, *failed]))["calls_failed"]
    assert finding.level == "ATTENTION"
    assert finding.text.startswith("A call failed in 2 of 64 cases")
    assert "1 MiB" in finding.text
    assert "cuMemHostRegister gave 719" in finding.text


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (None, "ended early;"),
        (End(status="interrupted", message="SIGTERM"), "(SIGTERM)"),
        (End(status="failed"), "(failed)"),
    ],
)
def test_a_run_that_ended_early_says_so(synthetic: ModuleType, end: End | None, words: str) -> None:
    run = pinned_only(synthetic, end=end)
    finding = by_topic(run)["ended_early"]
    assert words in finding.text
    assert "valid cases: 62" in finding.text
    assert "(incomplete run)" in verdict([run])


def test_imprecise_medians_are_counted_from_one_mebibyte_on(synthetic: ModuleType) -> None:
    truths = {PINNED_H2D: synthetic.Truth(8e-6, 50e9, 0.001), PAGEABLE_H2D: synthetic.Truth(8e-6, 9e9, 0.5)}
    finding = by_topic(synthetic.run(synthetic.cases(truths)))["precision"]
    assert finding.level == "note"
    assert finding.text.startswith("11 of 22 medians (1 MiB and up) have intervals wider than ±2 % (pageable 11).")
    assert "precision" not in by_topic(pinned_only(synthetic))


@pytest.mark.parametrize("skipped", [False, True])
def test_a_run_without_any_measurement(synthetic: ModuleType, skipped: bool) -> None:
    run = synthetic.run(synthetic.skips(PINNED_H2D, [1, 2], "no memory") if skipped else [])
    assert set(by_topic(run)) <= {"empty", "no_link"}
    assert "nothing to conclude" in verdict([run])


def first_calls(experiment: str, samples: int) -> Case:
    """A case from which no experiment concludes anything in its verdict."""
    series = [Series(metric="host_seconds", samples=[1e-3] * samples)]
    return Case(experiment=experiment, method="first_free", host_memory="pinned", bytes=MIB, series=series)


def test_few_samples_of_a_known_experiment_are_not_an_unknown_experiment(synthetic: ModuleType) -> None:
    known = verdict([synthetic.run([first_calls("allocation", 3)])])
    assert known.endswith("Too few samples of allocation to conclude anything from; --time allows more.")
    assert "--time" not in verdict([synthetic.run([first_calls("allocation", 12)])])
    assert "about which this version concludes nothing" in verdict([synthetic.run([first_calls("strides", 3)])])


def test_an_idle_link_below_its_maximum_proves_nothing(synthetic: ModuleType) -> None:
    link = Link(generation=1, width=16, max_generation=5, max_width=16)
    finding = by_topic(pinned_only(synthetic, device=synthetic.gpu(link=link)))["link_trained_down"]
    assert finding.level == "note"
    assert "was not read" in finding.text


TWO_NODES = Host(numa_nodes=[NumaNode(id=0, cpus="0-7"), NumaNode(id=1, cpus="8-15"), NumaNode(id=2)])


def test_numa_is_a_matter_only_of_several_nodes(synthetic: ModuleType) -> None:
    unbound = End(status="complete", placement=Placement(note="set_mempolicy is not permitted"))
    finding = by_topic(pinned_only(synthetic, host=TWO_NODES, end=unbound))["numa"]
    assert finding.level == "ATTENTION"
    assert "2 NUMA nodes (set_mempolicy is not permitted)" in finding.text
    assert "--membind=0" in finding.cure
    one = Host(numa_nodes=[NumaNode(id=0, cpus="0-7")])
    assert "numa" not in by_topic(pinned_only(synthetic, host=one, end=unbound))
    bound = End(status="complete", placement=Placement(bound_node=0))
    assert "numa" not in by_topic(pinned_only(synthetic, host=TWO_NODES, end=bound))
    assert "is unknown" in by_topic(pinned_only(synthetic, host=TWO_NODES, end=None))["numa"].text


def test_pages_on_the_wrong_node_are_named(synthetic: ModuleType) -> None:
    pages = {"pageable": {"0": 0.25, "1": 0.75}, "pinned": {"0": 1.0}, "registered": {"1": 1.0}}
    end = End(status="complete", placement=Placement(bound_node=0, pages=pages))
    sentence = by_topic(pinned_only(synthetic, host=TWO_NODES, end=end))["stray_pages"].text
    assert "pageable 75 %" in sentence
    assert "registered 100 %" in sentence
    assert "pinned" not in sentence


def test_confidential_mode_of_host_or_device(synthetic: ModuleType) -> None:
    assert "SEV" in by_topic(pinned_only(synthetic, host=Host(confidential="SEV-SNP guest")))["confidential"].text
    on, off = ({"confidential_computing": value} for value in ("on", "off"))
    assert "confidential" in by_topic(pinned_only(synthetic, device=synthetic.gpu(conditions=on)))
    assert "confidential" not in by_topic(pinned_only(synthetic, device=synthetic.gpu(conditions=off)))


def test_the_limit_on_locked_memory_matters_where_larger_cases_were_skipped(synthetic: ModuleType) -> None:
    host = Host(limits=Limits(locked_memory_bytes=8 * MIB))
    run = pinned_only(synthetic, host=host)
    assert "locked_memory" not in by_topic(run)
    skipped = synthetic.skips(("copy", "h2d", "registered"), [4 * KIB, 16 * MIB, 32 * MIB], "out of memory")
    finding = by_topic(msgspec.structs.replace(run, cases=[*run.cases, *skipped]))["locked_memory"]
    assert "8 MiB" in finding.text
    assert "(RLIMIT_MEMLOCK): 2" in finding.text
    assert "ulimit -l" in finding.cure


def test_huge_pages_that_are_switched_off(synthetic: ModuleType) -> None:
    host = Host(memory=Memory(transparent_huge_pages="never"))
    skipped = synthetic.skips(("copy", "h2d", "pageable_huge"), [MIB], "switched off")
    finding = by_topic(synthetic.run(skipped, host=host))["huge_pages_off"]
    assert finding.level == "ATTENTION"
    assert "never" in finding.text
    assert "madvise" in finding.cure


def test_verdict_names_device_rates_share_and_advice(synthetic: ModuleType) -> None:
    text = verdict([synthetic.h200()])
    assert re.match(r"NVIDIA H200 \(cuda:0\): Pinned memory moves 55\.\d GB/s H2D and 55\.\d GB/s D2H, 88 %", text)
    assert "times the rate of pageable memory" in text
    assert "\n" not in text


def test_verdict_of_several_runs_has_a_line_each(synthetic: ModuleType) -> None:
    cpu = pinned_only(synthetic, device=synthetic.cpu_device())
    lines = verdict([synthetic.h200(), cpu]).split("\n")
    assert [line.split(":")[0] for line in lines] == ["NVIDIA H200 (cuda", "cpu-haswell (opencl"]


def test_verdict_of_a_run_with_an_error_warns_first(synthetic: ModuleType) -> None:
    run = synthetic.run(synthetic.cases({PINNED_H2D: synthetic.Truth(8e-6, 900e9)}))
    assert "do not rely on this run" in verdict([run])


def test_verdict_of_small_transfers_claims_no_rate(synthetic: ModuleType) -> None:
    run = synthetic.run(synthetic.cases({PINNED_H2D: synthetic.Truth(8e-6, 50e9)}, [1, 2, 4, KIB]))
    assert "nothing can be said about the rate" in verdict([run])
