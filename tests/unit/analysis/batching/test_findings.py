"""What is said about many small pieces: gains with their cause and advice, thresholds, the cliff, and the verdict."""

import re
from types import ModuleType

import pytest

from isthmus.analysis.batching.findings import findings as batching_findings
from isthmus.analysis.batching.findings import takeaway as batching_takeaway
from isthmus.analysis.conclusions import findings, verdict
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import Language, speaking
from isthmus.record import KIB, Run


@pytest.fixture(scope="module")
def h200(synthetic: ModuleType, synthetic_batching: ModuleType) -> Run:
    return synthetic.run(synthetic_batching.h200_cases())  # type: ignore[no-any-return]


def topic(run: Run, name: str) -> Finding:
    (found,) = [finding for finding in batching_findings(run) if finding.topic == name]
    return found


def takeaway(run: Run) -> Takeaway:
    found = batching_takeaway(run)
    assert isinstance(found, Takeaway)
    return found


def test_every_topic_is_there_once(h200: Run) -> None:
    assert [finding.topic for finding in batching_findings(h200)] == [
        f"batching_{what}_{memory}" for memory in ("pageable", "pinned") for what in ("gain", "fastest", "breakeven")
    ] + ["batching_cliff", "batching_table"]
    assert not [finding for finding in findings(h200) if finding.severity == "error"]


def test_the_gain_has_its_cause_and_what_to_do(h200: Run) -> None:
    found = topic(h200, "batching_gain_pageable")
    assert "4096 pieces of 4 KiB in pageable memory, scattered on both sides, move H2D at 41" in found.sentence
    assert "by packing on 8 threads, 26 times the 1.57 GB/s of a loop of copies; D2H at" in found.sentence
    assert "takes about 2.6" in found.cause
    assert "64 B to 4 KiB, of which the link needs 65.0 ns for the largest" in found.cause
    assert found.fix.startswith("H2D and D2H with pageable memory: let some threads pack the pieces")
    assert topic(h200, "batching_gain_pinned").fix == (
        "H2D and D2H with pinned memory: let a kernel read or write the pieces where they are in host memory, instead "
        "of copying them."
    )


def test_advice_is_given_only_where_it_helps(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    cost = synthetic_batching.Cost
    loop, better, worse = cost(0, 2e-6, 5e10), cost(1e-5, 1e-7, 5e10), cost(0, 4e-6, 5e10)
    cases = synthetic_batching.cases({"copies": loop, "graph": better})
    cases += synthetic_batching.cases({"copies": loop, "graph": worse}, direction="d2h")
    fix = topic(synthetic.run(cases), "batching_gain_pinned").fix
    assert fix.startswith("H2D with pinned memory: record the copies into a graph")
    assert fix.endswith(" D2H with pinned memory: keep the loop of copies.")


def test_a_cause_is_only_given_where_the_size_does_not_count(
    synthetic: ModuleType, synthetic_batching: ModuleType
) -> None:
    cost = synthetic_batching.Cost
    slow = {"copies": cost(0, 1e-7, 1e9), "pack": cost(1e-5, 0, 5e9)}
    found = topic(synthetic.run(synthetic_batching.cases(slow)), "batching_gain_pinned")
    assert "5.1 times" in found.sentence or "5.0 times" in found.sentence
    assert not found.cause


def test_without_a_gain_nothing_is_advised(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    cost = synthetic_batching.Cost
    run = synthetic.run(synthetic_batching.cases({"copies": cost(0, 1e-6, 5e10), "pack": cost(0, 2e-6, 5e10)}))
    found = topic(run, "batching_gain_pinned")
    assert "by a loop of copies, which nothing beats for certain" in found.sentence
    assert not found.fix
    said = takeaway(run)
    assert said.does.endswith("with pinned memory by a loop of copies.")
    assert said.advice == "Keep the loop of copies."


def test_thresholds_are_those_of_the_method_that_is_fastest_for_many(h200: Run) -> None:
    sentence = topic(h200, "batching_breakeven_pageable").sentence
    assert "by packing on 8 threads: " in sentence
    # 22 us + 7 ns a piece against 6 us + 2.6 us a piece: from 7 pieces on, whatever small size they have.
    assert "1 KiB and 4 KiB from 7 on" in sentence
    assert "256 KiB and 1 MiB at no number measured" in sentence


def test_what_holds_both_ways_is_said_once(h200: Run) -> None:
    assert "H2D and D2H by a kernel that reaches host memory: " in topic(h200, "batching_breakeven_pinned").sentence


def test_the_fastest_are_counted(h200: Run) -> None:
    sentence = topic(h200, "batching_fastest_pinned").sentence
    assert "of 23 points, a kernel that reaches host memory at 17 (64 B to 16 KiB)" in sentence


def test_the_cliff_is_located(h200: Run) -> None:
    found = topic(h200, "batching_cliff")
    assert "cliff, wherever it was measured: 256 pieces of 24 KiB take 7.1 times" in found.sentence
    assert "as long as 256 of 28 KiB (5.4" in found.sentence
    assert "28 KiB and more" in found.fix


def test_no_cliff_is_an_answer(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    cost = synthetic_batching.Cost
    times = {"copies": cost(0, 2e-6, 55e9), "batch": cost(5e-6, 1e-6, 55e9)}
    found = topic(synthetic.run(synthetic_batching.cases(times)), "batching_cliff")
    assert "has no cliff between 4 KiB and 64 KiB with 256 pieces: larger pieces never" in found.sentence
    assert not found.fix


def test_sizes_far_apart_do_not_show_that_there_is_no_cliff(
    synthetic: ModuleType, synthetic_batching: ModuleType
) -> None:
    """The call gets seven times as fast at 28 KiB, and takes more time for 64 KiB than for 4 KiB all the same."""
    names = ("copies", "batch")
    methods = {name: synthetic_batching.H200[name] for name in names}
    run = synthetic.run(synthetic_batching.cases(methods, [256, 4 * KIB, 64 * KIB], [16, 4096]))
    found = topic(run, "batching_cliff")
    assert "cannot be told: the sizes of pieces measured, 256 B to 64 KiB, lie too far apart" in found.sentence
    assert "at most twice apart" in found.fix


def test_no_cliff_is_said_where_it_was_looked_for(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    cost = synthetic_batching.Cost
    times = {"copies": cost(0, 2e-6, 55e9), "batch": cost(5e-6, 1e-6, 55e9)}
    close = synthetic_batching.cases(times)
    far = synthetic_batching.cases(times, [256, 4 * KIB, 64 * KIB], [16], direction="d2h")
    sentence = topic(synthetic.run(close + far), "batching_cliff").sentence
    assert "between 4 KiB and 64 KiB with 256 pieces (H2D with pinned memory): " in sentence


def test_a_jump_shows_between_sizes_far_apart(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    slow, fast = synthetic_batching.Cost(0, 9e-6, 1e12), synthetic_batching.Cost(0, 1e-6, 1e12)
    times = {
        "copies": slow,
        "batch": lambda size, pieces: (slow if size < 64 * KIB else fast)(size, pieces),
    }
    run = synthetic.run(synthetic_batching.cases(times, [256, 4 * KIB, 64 * KIB], [16]))
    assert "has a cliff, wherever it was measured: 16 pieces of 4 KiB take 8" in topic(run, "batching_cliff").sentence


def test_without_the_batch_call_no_cliff_is_spoken_of(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    cost = synthetic_batching.Cost
    times = {"copies": cost(0, 2e-6, 55e9), "pack": cost(5e-6, 1e-8, 55e9)}
    topics = [finding.topic for finding in batching_findings(synthetic.run(synthetic_batching.cases(times)))]
    assert "batching_cliff" not in topics


def test_the_table_says_how_often_it_is_right(h200: Run) -> None:
    found = topic(h200, "batching_table")
    assert "within 10 % of the fastest at 30 of 36 points" in found.sentence
    assert "--full" in found.fix


def test_the_verdict_groups_directions_by_memory_and_method(h200: Run) -> None:
    assert verdict([h200]).startswith("NVIDIA H200 (cuda:0): 4096 pieces of 4 KiB, scattered on both sides, move 41.")
    assert "D2H with pageable memory by packing on 8 threads (26 times the loop of copies); 49." in verdict([h200])


def test_what_to_use_instead_is_said_of_each_kind_of_memory(h200: Run) -> None:
    assert takeaway(h200).advice == (
        "In place of a loop of copies, use packing on 8 threads with pageable memory and a kernel that reaches host "
        "memory with pinned memory."
    )


def test_what_helps_one_way_alone_is_said_of_that_way(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    cost = synthetic_batching.Cost
    loop, better, worse = cost(0, 2e-6, 5e10), cost(1e-5, 1e-7, 5e10), cost(0, 4e-6, 5e10)
    cases = synthetic_batching.cases({"copies": loop, "graph": better})
    cases += synthetic_batching.cases({"copies": loop, "graph": worse}, direction="d2h")
    assert takeaway(synthetic.run(cases)).advice == (
        "In place of a loop of copies, use a replayed graph of copies for H2D with pinned memory."
    )


@pytest.mark.parametrize("language", ["ja", "zh"])
def test_other_languages_keep_no_english(h200: Run, language: Language) -> None:
    with speaking(language):
        said = [text for each in batching_findings(h200) for text in (each.sentence, each.cause, each.fix)]
        said += [takeaway(h200).does, takeaway(h200).advice]
    for text in said:
        assert not re.search("[a-z]{2,} [a-z]{2,}", text), text
        assert not text or text.endswith("。"), text


def test_without_a_loop_to_compare_with_the_verdict_says_so(
    synthetic: ModuleType, synthetic_batching: ModuleType
) -> None:
    cost = synthetic_batching.Cost
    times = {"pack": cost(5e-6, 1e-8, 55e9), "kernel": cost(5e-6, 1e-8, 55e9)}
    run = synthetic.run(synthetic_batching.cases(times))
    assert "no gain to tell" in takeaway(run).does
    assert not [finding for finding in batching_findings(run) if finding.topic.startswith("batching_gain")]


def test_a_run_of_something_else_says_nothing(synthetic: ModuleType) -> None:
    run = synthetic.run(synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)}, [KIB]))
    assert batching_findings(run) == []
    assert batching_takeaway(run) is None


def test_a_rate_above_the_link_is_an_error(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    cost = synthetic_batching.Cost
    run = synthetic.run(synthetic_batching.cases({"copies": cost(0, 1e-6, 55e9), "kernel": cost(0, 0, 90e9)}))
    (above,) = [finding for finding in findings(run) if finding.topic == "above_link"]
    assert above.severity == "error"
    assert "pieces by a kernel that reaches host memory" in above.sentence


def test_one_piece_is_no_batch(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    run = synthetic.run(synthetic_batching.cases(synthetic_batching.H200, [4 * KIB], [1]))
    assert "no gain to tell" in takeaway(run).does
    assert batching_findings(run) == []


def test_a_single_point_is_one(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    methods = {name: synthetic_batching.H200[name] for name in ("copies", "kernel")}
    run = synthetic.run(synthetic_batching.cases(methods, [4 * KIB], [16]))
    assert "H2D, of 1 point, a kernel" in topic(run, "batching_fastest_pinned").sentence


def test_a_cliff_of_one_surface_is_said_of_it_alone(synthetic: ModuleType, synthetic_batching: ModuleType) -> None:
    smooth = {**synthetic_batching.H200, "batch": synthetic_batching.Cost(5e-6, 1e-6, 55e9)}
    cases = synthetic_batching.cases(synthetic_batching.H200) + synthetic_batching.cases(smooth, direction="d2h")
    sentence = topic(synthetic.run(cases), "batching_cliff").sentence
    assert "has a cliff, H2D with pinned memory: 256 pieces of 24 KiB" in sentence
