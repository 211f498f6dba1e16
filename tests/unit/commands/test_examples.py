"""What help shows to begin with is what the commands take, and each experiment says what it is about."""

import shlex
from typing import Any

import pytest
import typer

from isthmus.commands._command import EXAMPLES
from isthmus.commands.main import app, main
from isthmus.registry import EXPERIMENTS


def group() -> Any:
    return typer.main.get_command(app)


def test_every_command_has_examples() -> None:
    assert {name for name, each in group().commands.items() if not each.hidden} == EXAMPLES.keys()


@pytest.mark.parametrize(("command", "words"), [(name, words) for name, all_ in EXAMPLES.items() for words in all_])
def test_an_example_is_understood(command: str, words: str) -> None:
    """Whatever a command does not know is an error of parsing."""
    context = group().commands[command].make_context(command, shlex.split(words))
    assert context.params


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
def test_an_experiment_s_help_says_what_it_measures_how_long_it_takes_and_an_example(
    experiment: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["measure", experiment.name, "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert experiment.help[1:] in text
    assert "Its table answers: " in text
    assert " with --quick, " in text
    assert f"isthmus measure {experiment.name} --device cuda:0" in text
