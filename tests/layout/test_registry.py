"""Every experiment is registered once and whole: what it measures, what that means, its texts, its line in the docs."""

import sys
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from isthmus import registry
from isthmus.analysis.conclusions import conclude
from isthmus.analysis.sections import glances, sections
from isthmus.analysis.summary import summarise
from isthmus.commands.main import app
from isthmus.errors import RegistryError
from isthmus.experiment.engine.batch import brief_planner, planner
from isthmus.experiment.measure import choose_experiments
from isthmus.language import LANGUAGES, can_say, speaking
from isthmus.registry import EXPERIMENTS, MEASURED, Experiment, load
from tests.synthetic import runs as synthetic

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "src" / "isthmus"
NEW = Experiment("echo", "what an echo takes", 12)


def folders_with(stage: str, module: str) -> set[str]:
    return {path.parent.name for path in (PACKAGE / stage).glob(f"*/{module}.py")}


def test_what_can_be_measured_is_registered_and_has_both_its_folders() -> None:
    measured = {experiment.name for experiment in MEASURED}
    assert folders_with("experiment", "cases") == measured
    assert folders_with("analysis", "section") == {each.name for each in EXPERIMENTS if not each.is_short}
    assert len({experiment.importance for experiment in EXPERIMENTS}) == len(EXPERIMENTS)


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
def test_an_experiment_is_whole_on_both_sides_of_the_run_file(experiment: Experiment) -> None:
    assert planner(experiment).efforts.keys() == {"quick", "default", "full"}
    if experiment.is_brief:
        assert brief_planner(experiment).efforts.keys() == planner(experiment).efforts.keys()
    load(experiment.findings, ("findings", "takeaway"))
    assert hasattr(load(experiment.section, ("section",)), "glance") == (experiment.glance_rows == 0)
    for language in LANGUAGES:
        with speaking(language):
            assert [key for key in experiment.texts if not can_say(key)] == [], language


def test_help_and_docs_name_every_experiment() -> None:
    shown = CliRunner().invoke(app, ["measure", "--help"], env={"COLUMNS": "200"}).output
    docs = (REPOSITORY / "docs" / "measuring.md").read_text("utf-8")
    for experiment in MEASURED:
        assert experiment.name in shown
        assert f"[{experiment.name}](measuring/{experiment.name}.md)" in docs


def test_an_experiment_without_its_folders_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `latency` once was: registered for measuring, unknown to everything that follows."""
    with pytest.raises(RegistryError, match=r"no module isthmus\.experiment\.echo\.cases; add it, or take the entry"):
        planner(NEW)
    for side in ("conclusions", "sections"):
        monkeypatch.setattr(sys.modules[f"isthmus.analysis.{side}"], "EXPERIMENTS", (NEW,))
    with pytest.raises(RegistryError, match=r"no module isthmus\.analysis\.echo\.findings"):
        conclude(synthetic.h200())
    with pytest.raises(RegistryError, match=r"no module isthmus\.analysis\.echo\.section"):
        sections([synthetic.h200()])
    with pytest.raises(RegistryError, match=r"no module isthmus\.analysis\.echo\.section"):
        glances(synthetic.h200())


def test_an_experiment_with_half_a_surface_is_refused_by_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = ModuleType(NEW.cases)
    monkeypatch.setitem(sys.modules, "isthmus.experiment.echo", ModuleType("isthmus.experiment.echo"))
    monkeypatch.setitem(sys.modules, NEW.cases, cases)
    with pytest.raises(RegistryError, match=r"echo\.cases has no EFFORTS, plan; docs/extending\.md"):
        planner(NEW)


def test_an_error_inside_a_module_is_not_taken_for_its_absence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.py").write_text("import no_such_library\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        registry.load("broken", ())


def test_all_measures_every_experiment_and_a_summary_ranks_them() -> None:
    from isthmus.experiment.engine.options import Options

    assert [each.name for each in choose_experiments(["all"], Options())] == [each.name for each in MEASURED]
    assert summarise(conclude(synthetic.h200())).does[0].experiment == "bandwidth"
