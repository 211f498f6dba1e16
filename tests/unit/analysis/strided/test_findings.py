"""What the strided experiment says: the method to use, by how much it is faster, and where nothing can be told."""

from __future__ import annotations

import re
from types import ModuleType

import pytest

from isthmus.analysis.conclusions import findings, verdict
from isthmus.analysis.strided.findings import findings as strided_findings
from isthmus.analysis.strided.findings import takeaway as strided_takeaway
from isthmus.document.finding import Finding
from isthmus.language import Language, speaking
from isthmus.record import KIB, Run


@pytest.fixture(scope="module")
def full(synthetic: ModuleType, synthetic_strided: ModuleType) -> Run:
    return synthetic.run(synthetic_strided.h200_cases())  # type: ignore[no-any-return]


def topic(run: Run, name: str) -> Finding:
    (found,) = [each for each in strided_findings(run) if each.topic == name]
    return found


def takeaway(run: Run) -> Finding:
    found = strided_takeaway(run)
    assert isinstance(found, Finding)
    return found


def topics(run: Run) -> set[str]:
    return {each.topic for each in strided_findings(run)}


@pytest.mark.parametrize("language", ["ja", "zh"])
def test_other_languages_keep_no_english(full: Run, language: Language) -> None:
    with speaking(language):
        said = [text for each in strided_findings(full) for text in (each.text, each.cause, each.cure)]
        said += [takeaway(full).text, takeaway(full).cure]
    for text in said:
        assert not re.search("[a-z]{2,} [a-z]{2,}", text), text
        assert not text or text.endswith("。"), text


def test_a_run_without_sections_says_nothing(synthetic: ModuleType) -> None:
    run = synthetic.run([])
    assert strided_findings(run) == []
    assert strided_takeaway(run) is None


def test_the_column_beside_the_drivers_copy(full: Run) -> None:
    column = topic(full, "strided_column")
    assert column.text.startswith(
        "A column of 30720 doubles, contiguous on the host, strided on the device: D2H pinned 14.8 us (kernel), 3.5 "
    )
    assert "as fast as the driver copy (51." in column.text
    # The link of the synthetic device carries 63 GB/s.
    assert column.cause == "The driver copy takes 1.68 ns for each 8 B; the link needs 0.13 ns."
    assert column.cure == "Let a kernel read or write the host memory in place."


def test_advice_is_given_only_where_it_helps(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    gains, loses = {"section": 50e-6, "kernel": 15e-6}, {"section": 50e-6, "kernel": 90e-6}
    cases = synthetic_strided.column(gains)
    cases += synthetic_strided.column(loses, direction="h2d")
    cases += synthetic_strided.column(loses, memory="pageable")
    fix = topic(synthetic.run(cases), "strided_column").cure
    assert fix == (
        "H2D, pinned; D2H, pageable: move rows with the driver's 2-D or 3-D copy. D2H, pinned: let a kernel read or "
        "write the host memory in place."
    )


def test_the_verdict_says_what_to_use(full: Run) -> None:
    said = takeaway(full)
    assert said.text.startswith(
        "A column of 30720 doubles, contiguous on the host, strided on the device: D2H pinned 14.8 us (kernel), 3.5 "
    )
    assert said.cure == "Let a kernel read or write the host memory in place."
    assert said.text in verdict([full])


def test_nothing_beats_the_drivers_copy(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    run = synthetic.run(synthetic_strided.column({"section": 10e-6, "kernel": 30e-6, "device_pack": 25e-6}))
    assert takeaway(run) == Finding(
        "note",
        "pieces",
        "A column of 30720 doubles, contiguous on the host, strided on the device: nothing significantly faster than "
        "the driver copy (D2H, pinned 10.0 us).",
        do=("Move rows with the driver's 2-D or 3-D copy.",),
    )
    column = topic(run, "strided_column")
    assert column.cure == "Move rows with the driver's 2-D or 3-D copy."
    assert column.cause == ""


def test_what_noise_hides_is_no_gain(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    run = synthetic.run(synthetic_strided.column({"section": 10e-6, "kernel": 9.5e-6}, noise=0.3))
    assert "nothing significantly faster" in takeaway(run).text


def test_without_known_sections_the_grid_speaks(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    run = synthetic.run(synthetic_strided.grid())
    said = takeaway(run).text
    assert said.startswith("32768 rows of 8 B, contiguous on the host, strided on the device: D2H pinned ")
    assert "(kernel)" in said
    assert "strided_column" not in topics(run)


def test_one_method_alone_compares_with_nothing(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    run = synthetic.run([synthetic_strided.case("section", 1e-5, 8, KIB, pitch=16)])
    assert strided_findings(run) == []
    assert "nothing to compare" in takeaway(run).text


def test_without_the_drivers_copy_nothing_is_compared(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    run = synthetic.run(synthetic_strided.column({"kernel": 15e-6, "device_pack": 25e-6}))
    assert strided_findings(run) == []
    assert "nothing to compare" in takeaway(run).text


def test_topics_are_unique_in_a_run(full: Run) -> None:
    found = [each.topic for each in findings(full)]
    assert len(found) == len(set(found))


def test_wrong_data_is_no_method_to_use(synthetic: ModuleType, synthetic_strided: ModuleType) -> None:
    right = synthetic_strided.column({"section": 50e-6, "device_pack": 25e-6})
    wrong = synthetic_strided.column({"kernel": 15e-6}, verified="no")
    run = synthetic.run([*right, *wrong])
    assert "(device pack), 2.0 times" in takeaway(run).text
    assert "do not rely on this run" in verdict([run])


def test_what_overwrites_more_than_was_asked_for_is_never_the_fastest(
    synthetic: ModuleType, synthetic_strided: ModuleType
) -> None:
    truths = {
        "section": lambda width, rows: 5e-5,
        "kernel": lambda width, rows: 3e-5,
        "whole": lambda width, rows: 1e-5,
    }
    run = synthetic.run(synthetic_strided.grid(truths, host="strided"))
    assert "(kernel)" in takeaway(run).text
