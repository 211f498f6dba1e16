"""What is said of predictions: how far off they are, of which memory most, and nothing where nothing was checked."""

from __future__ import annotations

from types import ModuleType

import pytest

from isthmus.analysis.conclusions import findings
from isthmus.analysis.prediction.findings import findings as prediction_findings
from isthmus.analysis.prediction.findings import takeaway as prediction_takeaway
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import LANGUAGES, Language, speaking
from isthmus.record import Run

PINNED = ("copy", "h2d", "pinned")
PAGEABLE = ("copy", "h2d", "pageable")


def of_topic(run: Run, topic: str) -> Finding | None:
    return next((finding for finding in findings(run) if finding.topic == topic), None)


def steady(synthetic: ModuleType) -> Run:
    found: Run = synthetic.run(synthetic.cases({PINNED: synthetic.Truth(7e-6, 55e9)}))
    return found


def erratic(synthetic: ModuleType) -> Run:
    truth = synthetic.Truth(7e-6, 10e9, 0.05, swings=(1.0, 1.1, 1.8), flips=(1.0, 1.4))
    found: Run = synthetic.run(synthetic.cases({PINNED: synthetic.Truth(7e-6, 55e9), PAGEABLE: truth}))
    return found


def test_good_predictions_are_a_fact_without_anything_to_do(synthetic: ModuleType) -> None:
    found = of_topic(steady(synthetic), "prediction")
    assert found is not None
    assert (found.severity, found.cause, found.fix) == ("info", "", "")
    assert "18 sizes held out" in found.sentence


def test_memory_that_cannot_be_predicted_is_named_with_its_cause(synthetic: ModuleType) -> None:
    found = of_topic(erratic(synthetic), "prediction")
    assert found is not None
    assert found.severity == "warning"
    assert "pageable memory" in found.sentence
    assert "pinned" not in found.sentence
    assert found.cause
    assert found.fix


def test_pipelines_are_said_by_memory(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    way = {("copy", way, "pinned"): synthetic.Truth(7e-6, 55e9) for way in ("h2d", "d2h")}
    made = synthetic.run([*synthetic.cases(way), *synthetic_overlap.cases("pinned", synthetic_overlap.PINNED)])
    found = of_topic(made, "prediction_pipelines")
    assert found is not None
    assert "pipelines of several chunks through pinned memory" in found.sentence


def test_the_verdict_warns_of_what_varies(synthetic: ModuleType) -> None:
    good, bad = prediction_takeaway(steady(synthetic)), prediction_takeaway(erratic(synthetic))
    assert isinstance(good, Takeaway)
    assert isinstance(bad, Takeaway)
    assert not good.advice
    assert "pageable memory" in bad.advice


def test_runs_without_sizes_to_check_say_nothing(synthetic: ModuleType) -> None:
    few = synthetic.run(synthetic.cases({PINNED: synthetic.Truth(7e-6, 55e9)}, [1 << 20, 1 << 22, 1 << 24]))
    wrong = synthetic.run(synthetic.cases({PINNED: synthetic.Truth(7e-6, 55e9)}, verified="no"))
    skipped = synthetic.run(synthetic.skips(PINNED, [1 << 20], "no such memory"))
    for run in (few, wrong, skipped, synthetic.run([])):
        assert prediction_findings(run) == []
        assert prediction_takeaway(run) is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_is_said_in_every_language(synthetic: ModuleType, language: Language) -> None:
    with speaking(language):
        (found,) = prediction_findings(erratic(synthetic))
        assert "%" in found.sentence
        assert "{" not in found.sentence + found.cause + found.fix
