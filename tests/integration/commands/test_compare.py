"""`isthmus compare` as a user runs it: two files or a reference, exit codes, messages and files."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from isthmus.commands import main
from isthmus.record import Run, Series
from tests.synthetic import runs as synthetic

Compare = Callable[..., tuple[int, str, str]]


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str]) -> Compare:
    """Runs one command line in this process: exit code, standard output, standard error."""

    def run(*words: str | Path) -> tuple[int, str, str]:
        code = main(["compare", *map(str, words)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def saved(path: Path, run: Run) -> Path:
    path.write_bytes(msgspec.json.encode(run))
    return path


@pytest.fixture
def run() -> Run:
    truths = {("copy", way, "pinned"): synthetic.Truth(8e-6, 50e9) for way in ("h2d", "d2h")}
    made: Run = synthetic.run(synthetic.cases(truths), name="base")
    return made


@pytest.fixture
def base(tmp_path: Path, run: Run) -> Path:
    return saved(tmp_path / "base.json", run)


@pytest.fixture
def slow(tmp_path: Path, run: Run) -> Path:
    """Everything 10 % slower."""
    cases = [
        msgspec.structs.replace(
            case,
            series=[Series(metric=each.metric, samples=[1.1 * time for time in each.samples]) for each in case.series],
        )
        for case in run.cases
    ]
    return saved(tmp_path / "slow.json", msgspec.structs.replace(run, run="slow", cases=cases))


def test_gates_decide_the_exit_code(compare: Compare, base: Path, slow: Path) -> None:
    assert compare(base, slow)[0] == 0
    assert compare(base, slow, "--fail-if", "slower:20%", "--fail-if", "faster:5%")[0] == 0
    code, out, _ = compare(base, slow, "--fail-if", "slower:20%", "--fail-if", "slower:5%")
    assert code == 1
    assert "slower:5% fails; cases that do: 62 of 62" in out
    assert compare(slow, base, "--fail-if", "slower:5%")[0] == 0
    assert compare(base, slow, "--margin", "15", "--fail-if", "slower:5%")[0] == 0


@pytest.mark.parametrize(
    ("name", "start"), [("c.html", "\n<!doctype"), ("c.md", "# Comparison"), ("c.json", "{"), ("c.txt", "Comparison")]
)
def test_the_suffix_says_the_format(
    compare: Compare, base: Path, slow: Path, tmp_path: Path, name: str, start: str
) -> None:
    output = tmp_path / name
    code, out, _ = compare(base, slow, "-o", output, "--fail-if", "slower:5%")
    assert (code, out) == (1, f"{output}\n")
    assert output.read_text("utf-8").lstrip().startswith(start.lstrip())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("reference:nothing", "BASE"), "no such reference: 'nothing'; there are h100-pcie5, h200-pcie5"),
        (("reference:h200-pcie5", "BASE", "--fail-if", "slower:5%"), "its only gate is --fail-if outside"),
        (("BASE", "BASE", "--fail-if", "outside"), "needs ranges: name reference:NAME as BASE"),
        (("BASE", "BASE", "--fail-if", "slow"), "not a gate: 'slow'; expected slower:N%"),
        (("BASE", "BASE", "--format", "htm"), "no such format: 'htm'; did you mean 'html'?"),
        (("BASE", "BASE", "--lang", "de"), "no such language: 'de'"),
        (("BASE", "BASE", "--margin", "0"), "not a margin: 0"),
        (("BASE", "BASE", "-o", "BASE"), "would be overwritten"),
        (("BASE", "BASE", "-o", "absent/c.html"), "cannot be written"),
        (("BASE", "absent.json"), "absent.json: cannot be read"),
    ],
)
def test_usage_errors_say_what_to_do(
    compare: Compare, base: Path, words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = compare(*(base if word == "BASE" else word for word in words))
    assert (code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    "words",
    [
        ("report", "reference:h200-pcie5", "--format", "json"),
        ("check", "--run", "reference:h200-pcie5", "--json"),
        ("compare", "reference:h200-pcie5", "reference:h100-pcie5", "--format", "json"),
        ("plan", "--bytes", "64MiB", "--run", "reference:h200-pcie5", "--json"),
    ],
    ids=lambda words: words[0],
)
def test_a_reference_is_taken_wherever_a_run_is(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(list(words)) == 0
    assert "NVIDIA H" in json.dumps(json.loads(capsys.readouterr().out))


def test_runs_without_common_cases(compare: Compare, base: Path, tmp_path: Path) -> None:
    code, _, err = compare(base, saved(tmp_path / "empty.json", synthetic.run([])))
    assert code == 2
    assert "no case in common; base has bandwidth (62 cases); synthetic has no cases" in err


def test_a_run_of_an_older_schema_and_one_that_was_cut_off(
    compare: Compare, base: Path, run: Run, tmp_path: Path
) -> None:
    old = saved(tmp_path / "old.json", msgspec.structs.replace(run, schema_version=1, end=None, run="old"))
    code, out, _ = compare(old, base)
    assert code == 0
    assert "old is incomplete: interrupted." in out
    assert "Version of the run file: 1 → 5." in " ".join(out.split())
