"""The paper's answers next to a run's, and its estimate of the unit explained by the unit that was measured."""

from isthmus.analysis.managed.findings import findings
from isthmus.document.finding import Finding
from isthmus.record import Case, Run
from tests.synthetic import managed as synthetic_managed
from tests.synthetic import migrations as synthetic_migrations
from tests.synthetic import runs as synthetic


def paper(run: Run) -> Finding | None:
    return next((each for each in findings(run) if each.topic == "managed_paper"), None)


def test_both_answers_and_the_unit() -> None:
    moved: list[Case] = synthetic_managed.cases()
    told = paper(synthetic.run([*moved, *synthetic_migrations.gpu_cases()]))
    assert told
    assert "managed memory wins up to 60 % touched; here, against copies of pageable memory: " in told.text
    assert "from one double in 128 KiB on; here, against copies of pageable memory: " in told.text
    assert "128 KiB x 0.6 = 76.8 KiB, cannot be: a fault moves 64 KiB, and where more than half of 2 MiB" in told.cause
    assert "at strides below 128 KiB, and half at 128 KiB" in told.cause
    unknown = paper(synthetic.run(moved))
    assert unknown
    assert unknown.cause == "", "no unit was measured"


def test_no_answer_without_copies_to_compare_with() -> None:
    cases = [case for case in synthetic_managed.cases() if case.method == "managed"]
    assert paper(synthetic.run(cases)) is None
