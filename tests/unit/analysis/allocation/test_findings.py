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


def test_a_full_run_says_something_about_every_kind(topics: dict[str, Finding]) -> None:
    kinds = ["pageable", "pinned", "cheapest_pinned", "huge_pages", "managed", "device", "pool", "2d"]
    names = [*kinds, "beside", "free", "first_call"]
    assert {f"allocation_{name}" for name in names} <= topics.keys()
    assert all(topics[f"allocation_{name}"].severity == "info" for name in names)


def test_pinned_memory_is_given_as_a_fixed_part_and_a_part_for_each_mebibyte(topics: dict[str, Finding]) -> None:
    found = topics["allocation_pinned"]
    assert re.search(
        r"takes (49\d|50\d) us plus 3[56]\d us per MiB, freeing it takes (199|20\d) us plus", found.sentence
    )
    assert "every size within 1 %" in found.sentence
    # 29.6 ms against 25 ms of fresh pages that are touched and freed, and against 4 us of malloc and free.
    assert re.search(r"7,[34]00 times what malloc and free take and 1\.1\d times what fresh pageable", found.sentence)
    assert "Portable pinned memory and mapped memory cost the same within 5 %" in found.sentence
    assert re.search(
        r"write-combined memory costs 1\.0\d (\(.*?\) to 1\.\d+ )?times (\(.*?\) )?as much", found.sentence
    )


def test_touching_and_locking_explain_what_pinned_memory_costs(topics: dict[str, Finding]) -> None:
    assert re.search(
        r"together 10\d % of what the allocation takes: the driver has to", topics["allocation_pinned"].cause
    )


def test_the_rest_of_a_slow_allocation_is_not_explained_away(
    synthetic: ModuleType, synthetic_allocation: ModuleType
) -> None:
    slow = dict(synthetic_allocation.H200)
    slow["pinned", "allocate"] = synthetic_allocation.Cost(1e-3, 3e-3)
    cause = by_topic(synthetic.run(synthetic_allocation.cases(slow)))["allocation_pinned"].cause
    assert cause.endswith("the rest is the driver's own.")


def test_the_cheapest_way_is_said_by_size_with_the_crossing_and_what_to_do(topics: dict[str, Finding]) -> None:
    found = topics["allocation_cheapest_pinned"]
    assert "up to 1 MiB pinned memory; from 4 MiB on huge-page memory touched" in found.sentence
    assert re.search(r"overtakes pinned memory at 1\.[234] MiB", found.sentence)
    assert re.search(
        r"Registering as much memory that exists already, and undoing it, takes 3\.\d\d ms", found.sentence
    )
    assert "MADV_HUGEPAGE" in found.fix


def test_a_lead_that_keeps_changing_among_small_blocks_hides_no_rule_for_large_ones(
    synthetic: ModuleType, synthetic_allocation: ModuleType
) -> None:
    cases = []
    for index in range(10):
        size = 16 * KIB << index
        pinned = 2e-3 if size >= MIB or index % 2 else 5e-4
        truths = {
            (way, phase): synthetic_allocation.Cost(seconds)
            for way, seconds in (("pinned", pinned), ("touched_registered", 1e-3))
            for phase in ("allocate", "free")
        }
        cases += synthetic_allocation.cases(truths, [size])
    sentence = by_topic(synthetic.run(cases))["allocation_cheapest_pinned"].sentence
    assert sentence.startswith(
        "No way to get page-locked memory is the cheapest at all sizes; from 1 MiB on it is memory touched by many "
        "threads and registered."
    )


def test_device_memory_is_set_against_malloc_only_where_that_asks_the_system(topics: dict[str, Finding]) -> None:
    assert re.search(
        r"From 64 MiB on allocating takes .* as long as malloc, which only reserves",
        topics["allocation_device"].sentence,
    )


def test_device_memory_of_small_blocks_is_not_set_against_recycled_memory(
    synthetic: ModuleType, synthetic_allocation: ModuleType
) -> None:
    run = synthetic.run(synthetic_allocation.h200([KIB, MIB, 16 * MIB]))
    assert "malloc" not in by_topic(run)["allocation_device"].sentence


def only(run: Run, *kinds: str) -> Run:
    return msgspec.structs.replace(run, cases=[case for case in run.cases if case.host_memory in kinds])


def test_without_a_choice_nothing_is_the_cheapest(full: Run) -> None:
    assert "allocation_cheapest_pinned" not in by_topic(only(full, "malloc", "pinned", "registered"))


def test_ways_between_which_a_run_cannot_tell_share_a_range(
    synthetic: ModuleType, synthetic_allocation: ModuleType
) -> None:
    noisy = synthetic_allocation.Cost(1e-3, 1e-4, noise=0.3)
    ways = ("pinned", "touched_registered")
    run = synthetic.run(
        synthetic_allocation.cases({(way, phase): noisy for way in ways for phase in ("allocate", "free")})
    )
    found = by_topic(run)["allocation_cheapest_pinned"]
    assert "(which of them cannot be told), at every size measured" in found.sentence
    assert found.fix.startswith("Take whichever is simpler")


def test_memory_whose_pages_are_not_there_yet_wins_no_comparison(
    synthetic: ModuleType, synthetic_allocation: ModuleType
) -> None:
    reserved = dict(synthetic_allocation.H200)
    reserved["pinned", "allocate"] = reserved["pinned", "free"] = synthetic_allocation.Cost(15e-6)
    run = synthetic.run(synthetic_allocation.cases(reserved))
    found = by_topic(run)
    assert "its pages are not there yet" in found["allocation_pinned"].sentence
    assert found["allocation_pinned"].fix == ""
    assert "as pinned memory" not in found["allocation_cheapest_pinned"].sentence
    assert "64 MiB of pageable memory cost" in verdict([run])


def test_nothing_is_locked_for_a_device_that_shares_the_memory(
    synthetic: ModuleType, synthetic_allocation: ModuleType
) -> None:
    run = synthetic.run(synthetic_allocation.h200(), device=synthetic.cpu_device())
    found = by_topic(run)["allocation_cheapest_pinned"]
    assert "none has to be locked" in found.sentence
    assert found.fix == ""


def test_malloc_is_cheap_because_its_pages_come_later(topics: dict[str, Finding]) -> None:
    found = topics["allocation_pageable"]
    assert "malloc takes 40.0 ns up to 64 KiB and 1.60 us from 256 KiB on" in found.sentence
    assert re.search(r"first touch of fresh pages takes 60\d ns plus 3[34]\d us per MiB", found.sentence)
    assert "touched first" in found.cause


def test_huge_pages_gain_and_why(topics: dict[str, Finding]) -> None:
    found = topics["allocation_huge_pages"]
    assert re.search(r"first touch 2\.8 .*as fast, registering 1\.28 \(at 4 MiB\) to 1\.4", found.sentence)
    assert found.cause == "A page fault then fetches 2 MiB in place of 4 KiB."


def test_a_ratio_that_crosses_one_is_no_likeness_but_a_range_with_its_sizes(
    synthetic: ModuleType, synthetic_allocation: ModuleType
) -> None:
    crossing = dict(synthetic_allocation.H200)
    # Dearer at small sizes, cheaper at large ones, and about as dear in the middle.
    crossing["write_combined", "allocate"] = synthetic_allocation.Cost(1e-3, 2.5e-4)
    run = synthetic.run(synthetic_allocation.cases(crossing), host=synthetic.h200().fingerprint.host)
    sentence = by_topic(run)["allocation_pinned"].sentence
    assert re.search(r"write-combined memory costs 0\.\d+ \(at 1 GiB\) to 1\.\d+ times \(at 1 MiB\) as much", sentence)


def test_huge_pages_that_slow_registering_are_slower_and_no_page_fault_explains_it(
    synthetic: ModuleType, synthetic_allocation: ModuleType
) -> None:
    truths = {
        ("registered", "allocate"): synthetic_allocation.Cost(1e-6, 3e-4),
        ("registered_huge", "allocate"): synthetic_allocation.Cost(1e-6, 3.6e-4),
    }
    run = synthetic.run(synthetic_allocation.cases(truths), host=synthetic.h200().fingerprint.host)
    found = by_topic(run)["allocation_huge_pages"]
    assert re.search(r"Huge pages make registering 1\.\d+ .*slower \(sizes from 4 MiB on\)", found.sentence)
    assert (found.cause, found.fix) == ("", "")


def test_huge_pages_that_gain_nothing_get_no_advice(synthetic: ModuleType, synthetic_allocation: ModuleType) -> None:
    same = synthetic_allocation.Cost(1e-6, 3e-4, noise=0.05)
    run = synthetic.run(synthetic_allocation.cases({(kind, "touch"): same for kind in ("pageable", "pageable_huge")}))
    found = by_topic(run)["allocation_huge_pages"]
    assert "no certain difference" in found.sentence
    assert (found.cause, found.fix) == ("", "")


def test_the_warm_pool_is_set_against_device_memory(topics: dict[str, Finding]) -> None:
    found = topics["allocation_pool"]
    assert re.search(r"allocation takes (300|299|301) ns whatever the size", found.sentence)
    assert re.search(r"Device memory takes 7\d to 5\d\d times as long", found.sentence)
    assert "release threshold" in found.fix


def test_two_dimensional_memory_is_told_apart_only_where_it_differs(topics: dict[str, Finding]) -> None:
    sentence = topics["allocation_2d"].sentence
    assert "pitched device memory costs what linear device memory does, within 5 %" in sentence
    assert re.search(r"a device array costs 1\.2\d to 2\.1 times as much", sentence)


def test_small_blocks_beside_another_are_carved_out(topics: dict[str, Finding]) -> None:
    found = topics["allocation_beside"]
    assert re.search(r"pinned memory comes in 1\.\d\d us in place of (49\d|50\d) us at 256 B", found.sentence)
    # Of device memory those of 4 MiB gain nothing.
    assert re.search(r"device memory .* and at 1 MiB in 1\.\d\d us", found.sentence)
    assert found.fix.startswith("Keep one small block")


def test_freeing_is_set_against_free_and_against_allocating(topics: dict[str, Finding]) -> None:
    assert re.search(r"64 MiB back takes: pinned memory 5\.9\d ms \(0\.25 times", topics["allocation_free"].sentence)


def test_first_calls_are_named_by_the_time_they_lose(topics: dict[str, Finding]) -> None:
    found = topics["allocation_first_call"]
    assert "took 312 ms" in found.sentence
    assert re.search(
        r"later ones: pinned memory \(allocate\) 9\.\d\d ms where later ones take 8\d\d us", found.sentence
    )
    assert "registered memory (free)" not in found.sentence
    assert "Each was timed once" in found.sentence


def test_verdict_of_a_run_of_allocation_alone(full: Run) -> None:
    text = verdict([full])
    assert re.match(
        r"NVIDIA H200 \(cuda:0\): 64 MiB of pinned memory cost 29\.\d ms from allocation to release, 5\.\d", text
    )
    assert "from the warm pool" in text
    assert "\n" not in text


def test_verdicts_of_two_experiments_stand_in_one_line(synthetic: ModuleType, full: Run) -> None:
    both = msgspec.structs.replace(full, cases=[*synthetic.h200().cases, *full.cases])
    text = verdict([both])
    assert text.index("Pinned memory moves") < text.index("64 MiB of pinned memory cost")
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
    assert by_topic(run)


def test_one_size_is_called_by_its_name(synthetic: ModuleType, synthetic_allocation: ModuleType) -> None:
    run = one_kind(synthetic, synthetic_allocation, "device", sizes=[4 * KIB])
    assert re.search(r"takes (1\.00 us|99\d ns) at 4 KiB", by_topic(run)["allocation_device"].sentence)


def test_first_calls_are_no_imprecise_medians(full: Run) -> None:
    found = by_topic(full)
    assert "few_samples" not in found
    large = sum(1 for case in full.cases if case.bytes >= MIB and case.series and not case.method.startswith("first_"))
    assert f"of {large} medians" in found["precision"].sentence
    assert "The calls themselves vary" in found["precision"].cause


def test_a_failed_call_is_named_without_a_size_where_there_is_none(synthetic: ModuleType) -> None:
    case = Case(
        experiment="allocation", method="open_device", host_memory="", bytes=0, skipped=True, note="failed: gone"
    )
    sentence = by_topic(synthetic.run([case]))["calls_failed"].sentence
    assert "because a call failed: open device (gone)" in sentence
