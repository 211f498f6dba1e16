"""The half screen that a report begins with: the most important answers that fit, and all that is wrong."""

from types import ModuleType

import msgspec
import pytest

from isthmus.analysis.conclusions import Conclusion, Conclusions, conclude
from isthmus.analysis.summary import first_sentence, summarise
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import LANGUAGES, Language, speaking


def concluded(*answers: tuple[str, Takeaway], findings: tuple[Finding, ...] = ()) -> Conclusions:
    experiments = tuple(Conclusion(name, takeaway, ()) for name, takeaway in answers)
    return Conclusions("GPU", True, Conclusion("", None, findings), experiments, "")


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("It moves 55.4 GB/s. It is steady.", "It moves 55.4 GB/s."),
        ("Only one, with 1.5 times", "Only one, with 1.5 times"),
        ("It needs /sys/kernel/mm/x.y now. Do it.", "It needs /sys/kernel/mm/x.y now."),
        ("速度は55.4 GB/sです。安定しています。", "速度は55.4 GB/sです。"),
        ("", ""),
    ],
)
def test_a_sentence_ends_where_it_ends_and_not_inside_a_figure(text: str, first: str) -> None:
    assert first_sentence(text) == first


def test_what_most_programs_meet_comes_first_and_what_does_not_fit_stays_out() -> None:
    long = Takeaway("long " * 150)
    found = summarise(
        concluded(
            ("stencil", Takeaway("Stencil.")), ("allocation", long), ("bandwidth", Takeaway("Bandwidth.", "Pin."))
        )
    )
    assert [entry.text for entry in found.does] == ["Bandwidth.", "Stencil."]
    assert [(entry.text, entry.experiment) for entry in found.advice] == [("Pin.", "bandwidth")]


def test_a_single_long_answer_is_not_left_out() -> None:
    found = summarise(concluded(("allocation", Takeaway("long " * 200))))
    assert len(found.does) == 1


def test_wide_characters_take_two_columns() -> None:
    narrow, wide = "a" * 700, "あ" * 400
    assert len(summarise(concluded(("bandwidth", Takeaway("x")), ("overlap", Takeaway(narrow)))).does) == 1
    assert len(summarise(concluded(("bandwidth", Takeaway("x")), ("overlap", Takeaway("a" * 400)))).does) == 2
    assert len(summarise(concluded(("bandwidth", Takeaway("x")), ("overlap", Takeaway(wide)))).does) == 1


def test_errors_come_before_warnings_and_silence_the_answers() -> None:
    warnings = tuple(Finding("warning", f"w{index}", f"Warning {index}. More.") for index in range(4))
    error = Finding("error", "e", "Error. More.")
    found = summarise(concluded(("bandwidth", Takeaway("Fast.")), findings=(*warnings, error)))
    assert not found.reliable
    assert found.does == ()
    assert [entry.text for entry in found.troubles] == ["Error.", "Warning 0.", "Warning 1."]
    assert [entry.topic for entry in found.more] == ["w2", "w3"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_unverified_cases_are_excluded_and_said(synthetic: ModuleType, language: Language) -> None:
    run = synthetic.h200()
    broken = msgspec.structs.replace(run, cases=[msgspec.structs.replace(run.cases[0], verified="no"), *run.cases[1:]])
    with speaking(language):
        found = summarise(conclude(broken))
    assert found.troubles[0].topic == "verification"
    assert found.troubles[0].severity == "error"


def test_an_empty_run_says_why_there_is_nothing(synthetic: ModuleType) -> None:
    found = summarise(conclude(synthetic.run([], end=None)))
    assert not found.complete
    assert "nothing to conclude" in found.nothing
    assert found.does == found.advice == ()
