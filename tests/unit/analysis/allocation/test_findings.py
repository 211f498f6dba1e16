"""Conclusions about what memory costs: each with its figures where the data support it, and not otherwise."""

import re
from types import ModuleType

import msgspec
import pytest

from isthmus.analysis.conclusions import findings, verdict
from isthmus.document.finding import Finding
from isthmus.record import KIB, MIB, Case, Run


def by_topic(run: Run) -> dict[str, Finding]:
    found = findings(run)
    assert len({finding.topic for finding in found}) == len(found)
    return {finding.topic: finding for finding in found}


@pytest.fixture(scope="module")
def full(synthetic: ModuleType, synthetic_allocation: ModuleType) -> Run:
    return synthetic.run(synthetic_allocation.h200(), host=synthetic.h200().fingerprint.host)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def topics(full: Run) -> dict[str, Finding]:
    return by_topic(full)


def test_a_full_run_says_one_thing_about_every_kind(topics: dict[str, Finding]) -> None:
    names = ["pageable", "pinned", "cheapest_pinned", "huge_pages", "device", "beside", "first_call"]
    assert [topic for topic in topics if topic.startswith("allocation_")] == [f"allocation_{name}" for name in names]
    assert all(topics[f"allocation_{name}"].level == "note" for name in names)


def test_pinned_memory_has_its_cost_and_what_to_do(topics: dict[str, Finding]) -> None:
    found = topics["allocation_pinned"]
    assert re.match(r"64 MiB of pinned memory: 29\.\d ms from allocation to release\.", found.text)
    assert found.cure.startswith("Allocate pinned buffers once")


def test_the_cheapest_way_is_named_with_what_to_do(topics: dict[str, Finding]) -> None:
    found = topics["allocation_cheapest_pinned"]
    assert found.text.startswith("Cheapest new pinned memory at 64 MiB: huge-page memory touched by many threads")
    assert "MADV_HUGEPAGE" in found.cure


def only(run: Run, *kinds: str) -> Run:
    return msgspec.structs.replace(run, cases=[case for case in run.cases if case.host_memory in kinds])


def test_without_a_choice_nothing_is_the_cheapest(full: Run) -> None:
    assert "allocation_cheapest_pinned" not in by_topic(only(full, "malloc", "pinned", "registered"))


def test_ways_without_a_significant_difference_are_tied(
    synthetic: ModuleType, synthetic_allocation: ModuleType
) -> None:
    noisy = synthetic_allocation.Cost(1e-3, 1e-4, noise=0.3)
    ways = ("pinned", "touched_registered")
    run = synthetic.run(
        synthetic_allocation.cases({(way, phase): noisy for way in ways for phase in ("allocate", "free")})
    )
    found = by_topic(run)["allocation_cheapest_pinned"]
    assert " or " in found.text


def test_memory_whose_pages_are_not_there_yet_wins_no_comparison(
    synthetic: ModuleType, synthetic_allocation: ModuleType
) -> None:
    reserved = dict(synthetic_allocation.H200)
    reserved["pinned", "allocate"] = reserved["pinned", "free"] = synthetic_allocation.Cost(15e-6)
    run = synthetic.run(synthetic_allocation.cases(reserved))
    found = by_topic(run)
    assert "without its pages" in found["allocation_pinned"].text
    assert found["allocation_pinned"].cure == ""
    assert "from the driver" not in found["allocation_cheapest_pinned"].text
    assert "64 MiB of fresh pageable memory:" in verdict([run])


def test_nothing_is_locked_for_a_device_that_shares_the_memory(
    synthetic: ModuleType, synthetic_allocation: ModuleType
) -> None:
    run = synthetic.run(synthetic_allocation.h200(), device=synthetic.cpu_device())
    assert by_topic(run)["allocation_cheapest_pinned"].cure == ""


def test_fresh_pages_cost_when_they_are_touched(topics: dict[str, Finding]) -> None:
    found = topics["allocation_pageable"]
    assert re.search(
        r"64 MiB of fresh pageable memory: 2\d\.\d ms .*, 2\d\.\d ms of it for the first touch", found.text
    )


def test_huge_pages_gain(topics: dict[str, Finding]) -> None:
    found = topics["allocation_huge_pages"]
    assert re.search(r"First touch of 64 MiB with huge pages: \d\.\d times as fast", found.text)
    assert "MADV_HUGEPAGE" in found.cure


def test_huge_pages_that_do_not_help_are_no_finding(synthetic: ModuleType, synthetic_allocation: ModuleType) -> None:
    truths = {(kind, "touch"): synthetic_allocation.Cost(1e-6, 3e-4) for kind in ("pageable", "pageable_huge")}
    assert "allocation_huge_pages" not in by_topic(synthetic.run(synthetic_allocation.cases(truths)))


def test_the_warm_pool_stands_beside_device_memory(topics: dict[str, Finding]) -> None:
    found = topics["allocation_device"]
    assert re.search(r"from the warm pool \d+ ns", found.text)
    assert "release threshold" in found.cure


def test_small_blocks_beside_another_are_carved_out(topics: dict[str, Finding]) -> None:
    found = topics["allocation_beside"]
    assert found.text.startswith("Holding one small block makes the next at least twice as cheap: pinned memory")
    assert found.cure.startswith("Keep one small block")


def test_opening_the_device_has_its_time(topics: dict[str, Finding]) -> None:
    assert "312 ms" in topics["allocation_first_call"].text


def test_verdict_of_a_run_of_allocation_alone(full: Run) -> None:
    text = verdict([full])
    assert re.match(r"NVIDIA H200 \(cuda:0\): 64 MiB of pinned memory: 29\.\d ms from .* Cheapest new pinned", text)
    assert "from the warm pool" in text
    assert "\n" not in text


def test_verdicts_of_two_experiments_stand_in_one_line(synthetic: ModuleType, full: Run) -> None:
    both = msgspec.structs.replace(full, cases=[*synthetic.h200().cases, *full.cases])
    text = verdict([both])
    assert text.index("Pinned memory moves") < text.index("64 MiB of pinned memory:")
    assert "\n" not in text


def one_kind(synthetic: ModuleType, synthetic_allocation: ModuleType, kind: str, **sizes: object) -> Run:
    truths = {(kind, phase): synthetic_allocation.Cost(1e-6) for phase in ("allocate", "free")}
    return synthetic.run(synthetic_allocation.cases(truths, **sizes))  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", ["device", "managed", "registered", "device_pool", "some_new_kind"])
def test_a_single_kind_makes_a_verdict_or_says_that_nothing_is_concluded(
    synthetic: ModuleType, synthetic_allocation: ModuleType, kind: str
) -> None:
    run = one_kind(synthetic, synthetic_allocation, kind)
    assert "Nothing was measured" not in verdict([run])


def test_one_size_is_called_by_its_name(synthetic: ModuleType, synthetic_allocation: ModuleType) -> None:
    run = one_kind(synthetic, synthetic_allocation, "device", sizes=[4 * KIB])
    assert by_topic(run)["allocation_device"].text.startswith("4 KiB of device memory: ")


def test_first_calls_are_no_imprecise_medians(full: Run) -> None:
    found = by_topic(full)
    large = sum(1 for case in full.cases if case.bytes >= MIB and case.series and not case.method.startswith("first_"))
    assert f"of {large} medians" in found["precision"].text
    assert "Measure with --full" in found["precision"].cure


def test_a_failed_call_is_named_without_a_size_where_there_is_none(synthetic: ModuleType) -> None:
    case = Case(
        experiment="allocation", method="open_device", host_memory="", bytes=0, skipped=True, note="failed: gone"
    )
    sentence = by_topic(synthetic.run([case]))["calls_failed"].text
    assert "A call failed in 1 of 1 cases, first: open device (gone)" in sentence
