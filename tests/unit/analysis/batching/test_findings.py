"""What is said about many small pieces: gains with their cause and advice, thresholds, the cliff, and the verdict."""

import re
from types import ModuleType

import pytest

from isthmus.analysis.batching.findings import findings as batching_findings
from isthmus.analysis.batching.findings import takeaway as batching_takeaway
from isthmus.analysis.conclusions import findings, verdict
from isthmus.document.finding import Finding
from isthmus.language import Language, speaking
from isthmus.record import KIB, Run


@pytest.fixture(scope="module")
def h200(synthetic: ModuleType, synthetic_batching: ModuleType) -> Run:
    return synthetic.run(synthetic_batching.h200_cases())  # type: ignore[no-any-return]


def topic(run: Run, name: str) -> Finding:
    (found,) = [finding for finding in batching_findings(run) if finding.topic == name]
    return found


def takeaway(run: Run) -> Finding:
    found = batching_takeaway(run)
    assert isinstance(found, Finding)
    return found


def test_every_topic_is_there_once(h200: Run) -> None:
    assert [finding.topic for finding in batching_findings(h200)] == [
        *(f"batching_gain_{memory}" for memory in ("pinned", "pageable")),
        "batching_cliff",
    ]
    assert not [finding for finding in findings(h200) if finding.level == "FAULT"]


def test_the_gain_has_its_cause_and_what_to_do(h200: Run) -> None:
    found = topic(h200, "batching_gain_pageable")
    assert found.text.startswith("4096 pieces of 4 KiB, scattered on both sides: H2D pageable 41.")
    assert "(pack on 8 threads), 26 times as fast as the copy loop (1.57 GB/s); D2H pageable" in found.text
    assert found.cause == "The copy loop takes 2.60 us for each 4 KiB; the link needs 65.0 ns."
    assert found.cure.startswith("Pack or unpack chunks on several threads")
    assert topic(h200, "batching_gain_pinned").cure == "Let a kernel read or write the host memory in place."


def test_advice_is_given_only_where_it_helps(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    cost = synthetic_batching.Cost
    loop, better, worse = cost(0, 2e-6, 5e10), cost(1e-5, 1e-7, 5e10), cost(0, 4e-6, 5e10)
    cases = synthetic_batching.cases({"copies": loop, "graph": better})
    cases += synthetic_batching.cases({"copies": loop, "graph": worse}, direction="d2h")
    fix = topic(synthetic.run(cases), "batching_gain_pinned").cure
    assert fix.startswith("H2D, pinned: record the copies into a graph")
    assert fix.endswith(" D2H, pinned: copy pieces one by one in a loop.")


def test_without_a_gain_nothing_is_advised(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    cost = synthetic_batching.Cost
    run = synthetic.run(synthetic_batching.cases({"copies": cost(0, 1e-6, 5e10), "pack": cost(0, 2e-6, 5e10)}))
    found = topic(run, "batching_gain_pinned")
    assert ": nothing significantly faster than the copy loop (H2D, pinned " in found.text
    assert not found.cause
    said = takeaway(run)
    assert said.text == found.text
    assert said.cure == "Copy pieces one by one in a loop."


def test_the_cliff_is_located(h200: Run) -> None:
    found = topic(h200, "batching_cliff")
    assert "256 pieces of 24 KiB take the batch call 7.1 times" in found.text
    assert "as long as 256 of 28 KiB (5.4" in found.text
    assert "28 KiB and more" in found.cure


def test_a_jump_shows_between_sizes_far_apart(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    slow, fast = synthetic_batching.Cost(0, 9e-6, 1e12), synthetic_batching.Cost(0, 1e-6, 1e12)
    times = {"copies": slow, "batch": lambda size, pieces: (slow if size < 64 * KIB else fast)(size, pieces)}
    run = synthetic.run(synthetic_batching.cases(times, [256, 4 * KIB, 64 * KIB], [16]))
    assert "16 pieces of 4 KiB take the batch call 8" in topic(run, "batching_cliff").text


def test_without_the_batch_call_no_cliff_is_spoken_of(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    cost = synthetic_batching.Cost
    times = {"copies": cost(0, 2e-6, 55e9), "pack": cost(5e-6, 1e-8, 55e9)}
    topics = [finding.topic for finding in batching_findings(synthetic.run(synthetic_batching.cases(times)))]
    assert "batching_cliff" not in topics


def test_the_verdict_has_every_way(h200: Run) -> None:
    assert verdict([h200]).startswith(
        "NVIDIA H200 (cuda:0): 4096 pieces of 4 KiB, scattered on both sides: H2D pinned "
    )
    assert "(pack on 8 threads), 26 times as fast as the copy loop" in verdict([h200])


def test_what_to_use_instead_is_said_of_each_kind_of_memory(h200: Run) -> None:
    pinned, pageable = takeaway(h200).cure.split(". ")
    assert pinned.startswith("H2D, pinned; D2H, pinned: let a kernel")
    assert pageable.startswith("H2D, pageable; D2H, pageable: pack or unpack chunks")


@pytest.mark.parametrize("language", ["ja", "zh"])
def test_other_languages_keep_no_english(h200: Run, language: Language) -> None:
    with speaking(language):
        said = [text for each in batching_findings(h200) for text in (each.text, each.cause, each.cure)]
        said += [takeaway(h200).text, takeaway(h200).cure]
    for text in said:
        assert not re.search("[a-z]{2,} [a-z]{2,}", text), text
        assert not text or text.endswith("。"), text


def test_without_a_loop_to_compare_with_the_verdict_says_so(
    synthetic: ModuleType, synthetic_batching: ModuleType
) -> None:
    cost = synthetic_batching.Cost
    times = {"pack": cost(5e-6, 1e-8, 55e9), "kernel": cost(5e-6, 1e-8, 55e9)}
    run = synthetic.run(synthetic_batching.cases(times))
    assert "nothing to compare" in takeaway(run).text
    assert not [finding for finding in batching_findings(run) if finding.topic.startswith("batching_gain")]


def test_a_run_of_something_else_says_nothing(synthetic: ModuleType) -> None:
    run = synthetic.run(synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)}, [KIB]))
    assert batching_findings(run) == []
    assert batching_takeaway(run) is None


def test_a_rate_above_the_link_is_an_error(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    cost = synthetic_batching.Cost
    run = synthetic.run(synthetic_batching.cases({"copies": cost(0, 1e-6, 55e9), "kernel": cost(0, 0, 90e9)}))
    (above,) = [finding for finding in findings(run) if finding.topic == "above_link"]
    assert above.level == "FAULT"
    assert "(kernel)" in above.text


def test_one_piece_is_no_batch(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    run = synthetic.run(synthetic_batching.cases(synthetic_batching.H200, [4 * KIB], [1]))
    assert "nothing to compare" in takeaway(run).text
    assert batching_findings(run) == []


def test_without_a_cliff_there_is_nothing_to_say(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    cost = synthetic_batching.Cost
    times = {"copies": cost(0, 2e-6, 55e9), "batch": cost(5e-6, 1e-6, 55e9)}
    topics = [finding.topic for finding in batching_findings(synthetic.run(synthetic_batching.cases(times)))]
    assert "batching_cliff" not in topics


def test_a_cliff_of_one_surface_is_said_of_it_alone(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    smooth = {**synthetic_batching.H200, "batch": synthetic_batching.Cost(5e-6, 1e-6, 55e9)}
    cases = synthetic_batching.cases(synthetic_batching.H200) + synthetic_batching.cases(smooth, direction="d2h")
    sentence = topic(synthetic.run(cases), "batching_cliff").text
    assert sentence.startswith("H2D, pinned: 256 pieces of 24 KiB")
