"""The publications that Isthmus repeats, as a command shows them and as the documentation does."""

from pathlib import Path

import pytest

from isthmus.analysis.published.source import sources
from isthmus.commands.main import main
from isthmus.language import LANGUAGES, Language, say, speaking

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_source_has_its_commands_and_the_answer(language: Language, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--sources", "--lang", language, "--format", "markdown"]) == 0
    shown = capsys.readouterr().out
    for source in sources():
        assert all(command in shown for command in source.commands)
        with speaking(language):
            assert say(f"published.answer_{source.machine}").replace("*", "\\*") in shown
            assert say(f"published.question_{source.machine}") in shown


def test_a_page_shows_the_commands_unfolded(tmp_path: Path) -> None:
    page = tmp_path / "sources.html"
    assert main(["report", "--sources", "-o", str(page)]) == 0
    assert page.read_text("utf-8").count("<details open>") == len(sources())


def test_the_documentation_says_the_same() -> None:
    page = " ".join((REPOSITORY / "docs" / "sources.md").read_text("utf-8").split())
    for source in sources():
        question, answer = (say(f"published.{what}_{source.machine}") for what in ("question", "answer"))
        assert f"## {question} ``` {' '.join(source.commands)} ``` {answer}" in page


def test_runs_that_are_named_exist() -> None:
    kept = {path.name.removesuffix(".json.gz") for path in (REPOSITORY / "results").glob("*.json.gz")}
    named = {word.strip("(),.;:") for source in sources() for word in say(f"published.answer_{source.machine}").split()}
    runs = {name for name in named if name.startswith("h200")}
    assert len(runs) >= 4
    assert {name for name in runs if not any(each.startswith(name.rstrip("*")) for each in kept)} == set()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([], "no run to show; name run files, or --sources"),
        (["--sources", "a.json"], "--sources takes no run"),
        (["--sources", "--format", "csv"], "no such format: 'csv'"),
    ],
)
def test_what_cannot_be_shown_is_refused(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", *words]) == 2
    assert error in capsys.readouterr().err
