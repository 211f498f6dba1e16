"""What the strided experiment says: the method to use, by how much it is faster, and where nothing can be told."""

from __future__ import annotations

import re
from types import ModuleType

import pytest

from isthmus.analysis.conclusions import findings, verdict
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.analysis.strided.findings import findings as strided_findings
from isthmus.analysis.strided.findings import takeaway as strided_takeaway
from isthmus.analysis.strided.words import rows_words
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import Language, speaking
from isthmus.record import KIB, Run


@pytest.fixture(scope="module")
def full(synthetic: ModuleType, synthetic_strided: ModuleType) -> Run:
    return synthetic.run(synthetic_strided.h200_cases())  # type: ignore[no-any-return]


def topic(run: Run, name: str) -> Finding:
    (found,) = [each for each in strided_findings(run) if each.topic == name]
    return found


def takeaway(run: Run) -> Takeaway:
    found = strided_takeaway(run)
    assert isinstance(found, Takeaway)
    return found


def topics(run: Run) -> set[str]:
    return {each.topic for each in strided_findings(run)}


@pytest.mark.parametrize("language", ["ja", "zh"])
def test_other_languages_keep_no_english(full: Run, language: Language) -> None:
    with speaking(language):
        said = [text for each in strided_findings(full) for text in (each.sentence, each.cause, each.fix)]
        said += [takeaway(full).does, takeaway(full).advice]
    for text in said:
        assert not re.search("[a-z]{2,} [a-z]{2,}", text), text
        assert not text or text.endswith("。"), text


def test_a_run_without_sections_says_nothing(synthetic: ModuleType) -> None:
    run = synthetic.run([])
    assert strided_findings(run) == []
    assert strided_takeaway(run) is None


def test_the_column_beside_the_drivers_copy(full: Run) -> None:
    column = topic(full, "strided_column")
    assert column.sentence.startswith(
        "A column of 30720 doubles, strided on the device alone: D2H to pinned memory 14.8 us by a kernel that reaches "
        "host memory, 3.5 times "
    )
    assert "as fast as the driver's 2-D copy with its 51." in column.sentence
    assert (
        "copying 1000 MiB with all between the rows takes 19.4 ms D2H to pinned memory, and overwrites"
        in column.sentence
    )
    # The link of the synthetic device carries 63 GB/s.
    assert "takes 1.68 ns a row of 8 B, for which the link needs 0.13 ns" in column.cause
    assert column.fix == "D2H to pinned memory: let a kernel read or write the rows where they are in host memory."


def test_advice_is_given_only_where_it_helps(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    gains, loses = {"section": 50e-6, "kernel": 15e-6}, {"section": 50e-6, "kernel": 90e-6}
    cases = synthetic_strided.column(gains)
    cases += synthetic_strided.column(loses, direction="h2d")
    cases += synthetic_strided.column(loses, memory="pageable")
    fix = topic(synthetic.run(cases), "strided_column").fix
    assert fix == (
        "D2H to pinned memory: let a kernel read or write the rows where they are in host memory. H2D from pinned "
        "memory and D2H to pageable memory: keep the driver's 2-D or 3-D copy."
    )


def test_the_verdict_says_what_to_use(full: Run) -> None:
    said = takeaway(full)
    assert said.does.startswith(
        "Moving a column of 30720 doubles D2H to pinned memory takes 14.8 us with a kernel that reaches host memory, "
    )
    assert said.advice == "Let a kernel read or write the rows where they are in host memory."
    assert said.does in verdict([full])


def test_nothing_beats_the_drivers_copy(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    run = synthetic.run(synthetic_strided.column({"section": 10e-6, "kernel": 30e-6, "device_pack": 25e-6}))
    assert takeaway(run) == Takeaway(
        "Moving a column of 30720 doubles D2H to pinned memory takes 10.0 us with the driver's 2-D copy; nothing "
        "measured beats it for certain.",
        "Keep the driver's 2-D or 3-D copy.",
    )
    column = topic(run, "strided_column")
    assert column.fix == "Keep the driver's 2-D or 3-D copy."
    assert column.cause == ""


def test_what_noise_hides_is_no_gain(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    run = synthetic.run(synthetic_strided.column({"section": 10e-6, "kernel": 9.5e-6}, noise=0.3))
    assert "nothing measured beats it for certain" in takeaway(run).does
    assert "as fast)" in topic(run, "strided_column").sentence


def test_without_known_sections_the_grid_speaks(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    run = synthetic.run(synthetic_strided.grid())
    said = takeaway(run).does
    assert said.startswith("Moving 32768 rows of ")
    assert "(strided on the device alone, every other stretch) D2H to pinned memory takes " in said
    assert "with a kernel that reaches host memory" in said
    assert "strided_column" not in topics(run)


def test_one_method_alone_compares_with_nothing(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    run = synthetic.run([synthetic_strided.case("section", 1e-5, 8, KIB, pitch=16)])
    assert strided_findings(run) == []
    assert "nothing to compare" in takeaway(run).does


def test_without_the_drivers_copy_nothing_is_a_multiple_of_it(
    synthetic: ModuleType, synthetic_strided: ModuleType
) -> None:
    run = synthetic.run(synthetic_strided.column({"kernel": 15e-6, "device_pack": 25e-6}))
    assert "as fast as" not in topic(run, "strided_column").sentence
    assert "nothing to compare" in takeaway(run).does


def test_what_a_row_costs_and_what_the_link_could_carry(full: Run) -> None:
    cost = topic(full, "strided_row_cost")
    assert "Each further row of 1 B adds to the driver's 2-D copy of pinned memory 2.5" in cost.sentence
    assert "between 1024 and 32768 rows" in cost.sentence
    assert "the link carries 15" in cost.cause


def test_crossovers_name_what_never_wins(full: Run) -> None:
    crossovers = topic(full, "strided_crossovers_device").sentence
    assert "a kernel that reaches host memory from " in crossovers
    assert "for rows of 1 B and for 32768 rows only up to " in crossovers
    assert "strided on the device alone, every other stretch" in crossovers


def test_a_method_that_is_always_slower_is_never_in_range(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    truths = {"section": lambda width, rows: 1e-5, "kernel": lambda width, rows: 2e-5}
    run = synthetic.run(synthetic_strided.grid(truths))
    assert topic(run, "strided_crossovers_device").sentence.endswith(
        "never in range: a kernel that reaches host memory."
    )


def test_a_method_that_is_as_fast_cannot_be_told(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    truths = {"section": lambda width, rows: 1e-5, "kernel": lambda width, rows: 1e-5}
    run = synthetic.run(synthetic_strided.grid(truths, noise=0.05))
    assert "from" not in topic(run, "strided_crossovers_device").sentence
    assert "cannot tell: a kernel" in topic(run, "strided_crossovers_device").sentence


def test_padding(full: Run) -> None:
    padding = topic(full, "strided_padding").sentence
    assert padding.startswith("Rows of 496 B that are padded to 512 B on the device")
    assert "1.12 times" in padding or "1.13 times" in padding


def test_the_table_is_checked_on_points_it_does_not_know(full: Run) -> None:
    assert " of 8 points" in topic(full, "strided_table").sentence


def test_topics_are_unique_in_a_run(full: Run) -> None:
    found = [each.topic for each in findings(full)]
    assert len(found) == len(set(found))


def test_wrong_data_is_no_method_to_use(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    right = synthetic_strided.column({"section": 50e-6, "device_pack": 25e-6})
    wrong = synthetic_strided.column({"kernel": 15e-6}, verified="no")
    run = synthetic.run([*right, *wrong])
    assert "with packing by a kernel on the device and one copy, 2.0 times" in takeaway(run).does
    assert "do not rely on this run" in verdict([run])


def test_what_the_medians_alone_say_is_not_certain() -> None:
    endless = float("inf")
    assert rows_words(Threshold("never", 32, 4096, endless, 600, endless)) == (
        "never in range for certain, from 600 rows on at the earliest"
    )
    assert rows_words(Threshold("never", 32, 4096, endless, endless, endless)) == "never in range"


def test_what_overwrites_more_than_was_asked_for_is_never_the_fastest(
    synthetic: ModuleType, synthetic_strided: ModuleType
) -> None:
    truths = {
        "section": lambda width, rows: 5e-5,
        "kernel": lambda width, rows: 3e-5,
        "whole": lambda width, rows: 1e-5,
    }
    run = synthetic.run(synthetic_strided.grid(truths, host="strided"))
    sentence = topic(run, "strided_fastest_pinned").sentence
    assert "of 18 points: a kernel that reaches host memory at 18" in sentence
    assert "where what lies between the rows may be overwritten, copying all between the rows with them" in sentence
    assert sentence.endswith("is faster at 18.")
    assert "with a kernel that reaches host memory" in takeaway(run).does
    assert not any("copying all" in each.sentence for each in strided_findings(run) if "crossovers" in each.topic)


def test_the_fastest_add_up_and_ties_are_counted(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    best = {64: "kernel", 256: "kernel", KIB: "device_pack", 4 * KIB: "pack_threads"}
    methods = ("section", "kernel", "device_pack", "pack_threads")
    truths = {
        method: lambda width, rows, method=method: 1e-5 if best.get(width, "section") == method else 5e-5
        for method in methods
    }
    sentence = topic(synthetic.run(synthetic_strided.grid(truths)), "strided_fastest_pinned").sentence
    assert "of 18 points: the driver's 2-D copy at 6 (rows of 1 B to 8 B), a kernel that reaches" in sentence
    assert "(rows of 64 B to 256 B) and others at 6." in sentence
    same = {method: lambda width, rows: 1e-5 for method in ("section", "kernel")}
    tied = topic(synthetic.run(synthetic_strided.grid(same, noise=0.05)), "strided_fastest_pinned").sentence
    assert "; at 18 of them another one is as fast" in tied
