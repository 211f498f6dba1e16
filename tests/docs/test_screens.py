"""Screens in pages are what the program prints from the run that they are of."""

import gzip
import io
import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from isthmus.commands.main import app
from isthmus.experiment import check
from isthmus.record import read_run
from isthmus.report import write
from isthmus.report.screen import screen_document

REPOSITORY = Path(__file__).resolve().parents[2]
RUN = "results/h100-default.json.gz"
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
# A screen: the command behind a prompt, and what it printed.
SCREENS = {
    f"{page.relative_to(REPOSITORY)}: {command}": (command, screen)
    for page in PAGES
    for command, screen in re.findall(r"^```\n\$ isthmus (.*)\n((?:.*\n)+?)```$", page.read_text("utf-8"), re.MULTILINE)
}


def words(text: str) -> str:
    return " ".join(text.split())


def as_checked(folder: Path) -> Path:
    """The run with no sizes but those of a check."""
    run = json.loads(gzip.decompress((REPOSITORY / RUN).read_bytes()))
    run["cases"] = [case for case in run["cases"] if case["bytes"] in check.SIZES[:1]]
    path = folder / "check.json"
    path.write_text(json.dumps(run), "utf-8")
    return path


def printed(command: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> str:
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.setenv("COLUMNS", "100")
    if command == "measure":
        out = io.StringIO()
        write(screen_document(read_run(Path(RUN))), "terminal", out)
        return out.getvalue()
    shown = CliRunner().invoke(
        app, shlex.split(f"{command} --run {as_checked(folder)}" if command == "check" else command)
    )
    assert shown.exit_code == 0, shown.output
    return shown.output


@pytest.mark.parametrize("name", SCREENS)
def test_every_line_is_printed(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command, screen = SCREENS[name]
    told = words(printed(command, monkeypatch, tmp_path))
    lines = screen.splitlines()
    assert len(lines) >= 3
    assert [line for line in lines if words(line) not in told] == []


def test_there_are_screens() -> None:
    assert {command.partition(" ")[0] for command, _ in SCREENS.values()} >= {"check", "measure", "plan"}
