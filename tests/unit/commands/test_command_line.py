"""What holds for every option of every command, and what a shell is told that completes a command line."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from isthmus.commands._command import takes_one
from isthmus.commands._measure_options import counts, options_of
from isthmus.commands.main import app, main
from isthmus.errors import UsageError
from isthmus.registry import EXPERIMENTS, MEASURED

RESULTS = Path(__file__).resolve().parents[3] / "results"
COMMANDS: dict[str, Any] = dict(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
SHOWN = [name for name, command in COMMANDS.items() if not command.hidden]


def options() -> Iterator[tuple[str, Any]]:
    for name, command in COMMANDS.items():
        for param in command.params:
            if param.param_type_name == "option":
                yield name, param


def named(case: tuple[str, Any]) -> str:
    return f"{case[0]} {case[1].opts[0]}"


@pytest.mark.parametrize("case", list(options()), ids=named)
def test_an_option_given_twice_adds_up_or_is_refused_with_both_values(case: tuple[str, Any]) -> None:
    name, param = case
    if param.is_flag:
        # A switch that is on twice is on.
        return
    for option in param.opts:
        words = [option, "first", option, "second"]
        if takes_one(param):
            with pytest.raises(UsageError, match="given 2 times, as 'first' and as 'second'") as refused:
                COMMANDS[name].make_context(name, words)
            assert str(refused.value).startswith(max(param.opts, key=len))
        else:
            with COMMANDS[name].make_context(name, words, resilient_parsing=True) as context:
                assert [str(value) for value in context.params[param.name]] == ["first", "second"]


def test_short_and_long_names_of_an_option_count_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "-o", "a.json", "--output=b.json"]) == 2
    assert "--output is given 2 times, as 'a.json' and as 'b.json'" in capsys.readouterr().err


def test_lists_by_commas_and_options_given_several_times_add_up() -> None:
    asked = options_of("quick", ["1KiB", "2KiB,4KiB"], ["pageable", "pinned"], ["h2d,d2h"], "", "100ms", "", 0)
    assert asked.sizes == [1024, 2048, 4096]
    assert asked.memory == ["pageable", "pinned"]
    assert asked.directions == ["h2d", "d2h"]
    assert asked.budget_seconds == 0.1


@pytest.mark.parametrize("name", SHOWN)
def test_every_command_prints_json(name: str) -> None:
    assert any("--json" in param.opts for param in COMMANDS[name].params)


@pytest.mark.parametrize("name", SHOWN)
def test_no_words_of_help_are_taken_for_markup(name: str) -> None:
    """What is in square brackets is a style to what prints it, and is not shown."""
    assert not [param.help for param in COMMANDS[name].params if "[" in (getattr(param, "help", "") or "")]


@pytest.mark.parametrize("name", SHOWN)
def test_help_names_no_types_of_python(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert not re.search(r"<\w+(\[\w+\])?>", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "found", "least"),
    [
        (["plan", "--uses", "0"], "'0'", 1),
        (["plan", "--rows", "x"], "'x'", 1),
        (["measure", "--seed", "-1"], "'-1'", 0),
    ],
)
def test_a_wrong_number_is_refused_with_what_was_expected(
    words: list[str], found: str, least: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert f"found {found}, expected a whole number from {least} on" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "instead"),
    [
        (["measure", "stencil", "--scaling", "strong"], "--scaling is no option any more: start isthmus measure"),
        (["plan", "--bytes", "1MiB", "--source", "file"], "not for --source here: 'file'; isthmus.copy_from_file"),
    ],
)
def test_what_earlier_versions_took_is_refused_with_what_to_use_instead(
    words: list[str], instead: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert instead in capsys.readouterr().err


@pytest.mark.parametrize("name", SHOWN)
def test_help_fits_80_columns(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    # A description squeezed into a few letters a line is none.
    assert "…" not in shown


def test_options_of_one_experiment_are_shown_in_its_help_alone(capsys: pytest.CaptureFixture[str]) -> None:
    every = {name for each in EXPERIMENTS for name in each.options}
    known = {opt for param in COMMANDS["measure"].params for opt in param.opts}
    assert every
    assert every <= known

    def shown(*words: str) -> set[str]:
        command: Any = typer.main.get_command(app).commands["measure"]  # type: ignore[attr-defined]
        with command.make_context("measure", [*words], resilient_parsing=True):
            return every & {opt for param in command.params for opt in param.opts if not param.hidden}

    assert shown() == set()
    assert shown("all") == every
    for each in EXPERIMENTS:
        assert shown(each.name) == set(each.options), each.name
    assert main(["measure", "openacc", "--help"]) == 0
    assert every & set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) == shown("openacc")


def test_an_option_whose_help_names_experiments_is_theirs_alone() -> None:
    names = {each.name for each in EXPERIMENTS}
    for param in COMMANDS["measure"].params:
        named = str(getattr(param, "help", "") or "").partition(":")[0].split(", ")
        if {*named} <= names:
            option = max(param.opts, key=len)
            assert {*named} == {each.name for each in EXPERIMENTS if option in each.options}, option


def test_a_name_that_is_no_experiment_is_said_before_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "stencils", "--device", "host", "--side", "64"]) == 2
    assert "did you mean stencil?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variables", "colours"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_colours_go_where_they_are_wanted_and_never_into_a_file(
    variables: dict[str, str],
    colours: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    fleet = str(RESULTS / "h100x2-fleet.json.gz")
    assert main(["fleet", fleet]) == 0
    out = capsys.readouterr().out
    assert ("\x1b" in out) == ("FORCE_COLOR" in variables)
    # Bold is no colour.
    assert colours or not re.search(r"\x1b\[[0-9;]*3[0-7]m", out)
    assert main(["fleet", fleet, "-o", str(tmp_path / "fleet.txt")]) == 0
    assert "\x1b" not in (tmp_path / "fleet.txt").read_text("utf-8")


def test_columns_are_heeded_in_a_pipe(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for columns in (60, 90):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main(["fleet", str(RESULTS / "h100x2-fleet.json.gz")]) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= columns


def test_the_list_of_experiments_says_what_each_measures(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [each.name for each in MEASURED]
    assert main(["measure", "--list", "--json"]) == 0
    assert [each["name"] for each in json.loads(capsys.readouterr().out)] == [each.name for each in MEASURED]


def test_the_old_name_of_c_flags_works_and_says_the_new_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--include", "--lib"]) == 0
    old = capsys.readouterr()
    assert main(["c-flags", "--include", "--lib"]) == 0
    new = capsys.readouterr()
    assert old.out == new.out
    assert "isthmus c-flags" in old.err
    assert not new.err
    assert main(["c-flags", "--json", "--lib"]) == 0
    assert json.loads(capsys.readouterr().out) == {"lib": new.out.splitlines()[1]}
    assert main(["--help"]) == 0
    assert " config " not in capsys.readouterr().out


@pytest.mark.parametrize("word", ["-V", "--version"])
def test_the_version_has_a_short_option(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word]) == 0
    version, *build = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", version)
    assert re.fullmatch(
        r"NVIDIA driver [\d.]+|no NVIDIA driver is loaded \(/proc/driver/nvidia/version is not there\)", build[-1]
    )


TIMES = [
    (["measure", "--time"], "20"),
    (["check", "--for"], "10"),
    (["plan", "--bytes", "1MiB", "--run", "absent.json", "--compute"], "5"),
    (["advise", "absent", "--fail-if"], "gain:5"),
]


@pytest.mark.parametrize(("words", "value"), TIMES, ids=[words[0] for words, _ in TIMES])
def test_a_time_without_a_unit_is_refused_with_one(
    words: list[str], value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*words, value]) == 2
    assert re.search(r"\b\d+m?s\b", capsys.readouterr().err)


def thorough(*values: object) -> Any:
    return pytest.param(*values, marks=pytest.mark.thorough)


# Words as bash breaks them, which takes a colon for one.
BASH = """
source "$SCRIPT"
IFS=' ' read -ra COMP_WORDS <<< "$LINE"
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_isthmus_completion isthmus
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which bash finds an isthmus to call, and the script that is installed for it."""
    folder = tmp_path_factory.mktemp("shell")
    command = folder / "isthmus"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m isthmus "$@"\n')
    command.chmod(0o755)
    kept = folder / "state" / "isthmus" / "runs"
    kept.mkdir(parents=True)
    (kept / "kept.json").write_text("{}")
    environment = os.environ | {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "XDG_STATE_HOME": str(folder / "state"),
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }
    script = subprocess.run(
        ["isthmus", "--show-completion", "bash"], env=environment, check=True, capture_output=True, text=True
    ).stdout
    (folder / "script").write_text(script)
    return environment | {"SCRIPT": str(folder / "script"), "KEPT": str(kept)}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        thorough("isthmus me", {"measure"}),
        thorough("isthmus measure st", {"stencil", "strided"}),
        thorough("isthmus measure --device ho", {"host"}),
        # bash replaces the part behind the last colon alone.
        thorough("isthmus check --reference h200", {"h200-pcie5"}),
        ("isthmus compare reference : h200", {"h200-pcie5"}),
        thorough("isthmus report a", {"a.json", "a-folder/"}),
        thorough("isthmus report STATE/", {"STATE/kept.json"}),
        thorough("isthmus plan --snippet cu", {"cuda", "cupy"}),
        thorough("isthmus report --lang j", {"ja"}),
    ],
)
def test_a_shell_completes(line: str, expected: set[str], shell: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "a-folder").mkdir()
    command, environment = ["bash", "--norc", "-c", BASH], shell | {"LINE": line.replace("STATE", shell["KEPT"])}
    found = subprocess.run(command, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert {*found.stdout.replace(shell["KEPT"], "STATE").splitlines()} == expected, found.stderr


def test_numbers_by_commas_are_taken_once_and_bounded() -> None:
    assert counts("--threads", ["4,1", "4"]) == [4, 1]
    assert counts("--threads", None, most=8) == []
    for wrong, said in (("0", "not numbers above 0: --threads 0"), ("9", "--threads 9 is too many")):
        with pytest.raises(UsageError, match=said):
            counts("--threads", [wrong], most=8)
