"""A file that another command reads, an address, a command by the name that it has elsewhere: what is meant is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from isthmus.commands.main import main
from isthmus.trace.isthmus.blocks import MAGIC

RESULTS = Path(__file__).resolve().parents[3] / "results"


@pytest.fixture
def traces(tmp_path: Path) -> dict[str, Path]:
    contents = {
        "recorded.itrace": MAGIC + bytes(64),
        "export.sqlite": b"SQLite format 3\0" + bytes(64),
        "torch.json": b'{"schemaVersion": 1, "traceEvents": []}',
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return {name: tmp_path / name for name in contents}


@pytest.mark.parametrize("name", ["recorded.itrace", "export.sqlite", "torch.json"])
@pytest.mark.parametrize("command", ["report", "compare", "check"])
def test_a_trace_is_no_run(
    traces: dict[str, Path], name: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = {"report": [], "compare": [str(RESULTS / "pocl.json.gz")], "check": ["--run"]}[command]
    assert main([command, *words, str(traces[name])]) == 2
    assert f"a trace, and no run of measurements; see it with: isthmus advise {traces[name]}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "cure"),
    [("pocl.json.gz", "isthmus report {}"), ("pocl.json.gz", "--run {}"), ("h100x2-fleet.json.gz", "isthmus fleet {}")],
)
def test_measurements_are_no_trace(name: str, cure: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", str(RESULTS / name)]) == 2
    assert cure.format(RESULTS / name) in capsys.readouterr().err


@pytest.mark.parametrize("command", ["report", "advise", "fleet"])
def test_an_address_is_got_first(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "https://example.com/a.json"]) == 2
    assert "get it first: curl -LO https://example.com/a.json" in capsys.readouterr().err


@pytest.mark.parametrize(("word", "meant"), [("bench", "measure"), ("doctor", "check"), ("profile", "trace")])
def test_a_command_of_another_name_is_known_by_what_it_does(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word]) == 2
    assert f"no command '{word}'; isthmus {meant} " in capsys.readouterr().err


def test_help_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "check"]) == 0
    assert "Usage: isthmus check" in capsys.readouterr().out
