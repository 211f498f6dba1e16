"""The half screen that a report begins with: the most important answers that fit, and what to do."""

import pytest

from isthmus.analysis.conclusions import Conclusion, Conclusions, conclude
from isthmus.analysis.summary import first_sentence, summarise, things_to_do
from isthmus.document.finding import Finding
from tests.synthetic import runs as synthetic


def concluded(*answers: tuple[str, Finding], findings: tuple[Finding, ...] = ()) -> Conclusions:
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
    long = Finding("note", "a", "long " * 150)
    found = summarise(
        concluded(
            ("stencil", Finding("note", "a", "Stencil.")),
            ("allocation", long),
            ("bandwidth", Finding("note", "a", "Bandwidth.", do=("Pin.",))),
        )
    )
    assert [entry.text for entry in found.does] == ["Bandwidth.", "Stencil."]
    assert [(entry.text, entry.experiment) for entry in found.advice] == [("Pin.", "bandwidth")]


def test_a_single_long_answer_is_not_left_out() -> None:
    found = summarise(concluded(("allocation", Finding("note", "a", "long " * 200))))
    assert len(found.does) == 1


@pytest.mark.parametrize(("text", "shown"), [("a" * 700, 1), ("a" * 400, 2), ("あ" * 400, 1)])
def test_wide_characters_take_two_columns(text: str, shown: int) -> None:
    both = concluded(("bandwidth", Finding("note", "a", "x")), ("overlap", Finding("note", "a", text)))
    assert len(summarise(both).does) == shown


def test_a_fault_silences_the_answers_and_what_to_do() -> None:
    faulty = concluded(
        ("bandwidth", Finding("note", "a", "Fast.", do=("Pin.",))), findings=(Finding("FAULT", "e", "Error. More."),)
    )
    assert not faulty.reliable
    assert summarise(faulty).does == things_to_do(faulty, 4) == ()


def test_every_experiment_says_one_thing_to_do_before_any_says_two() -> None:
    found = concluded(
        ("bandwidth", Finding("note", "a", "Fast.", do=("Pin.", "Batch."))),
        ("stencil", Finding("note", "a", "Fast.", do=("Pack.",))),
        ("overlap", Finding("note", "a", "Fast.", do=("Overlap. That is so.",))),
        ("breakeven", Finding("note", "a", "Fast.")),
    )
    assert [each.text for each in things_to_do(found, 4)] == ["Pin.", "Overlap.", "Pack.", "Batch."]
    assert [each.experiment for each in things_to_do(found, 2)] == ["bandwidth", "overlap"]


def test_an_empty_run_says_why_there_is_nothing() -> None:
    found = conclude(synthetic.run([], end=None))
    assert not found.complete
    assert "nothing to conclude" in found.nothing
    assert summarise(found) == ((), ())
