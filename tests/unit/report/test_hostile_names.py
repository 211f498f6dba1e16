"""Names that command terminals, turn the order of letters or are formulas, in whatever a file may say."""

import base64
import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from isthmus.document.document import Document
from isthmus.ledger import REASONS, Counts
from isthmus.messages import plain, printable, to_stderr
from isthmus.record import Run
from isthmus.report import formats_for, page_title, write
from isthmus.report.acceleration import acceleration_document
from isthmus.report.runs import runs_document
from isthmus.trace import open_trace
from tests.synthetic import runs as synthetic
from tests.synthetic.trace_file import whole

# Clears a screen, twice; rings; begins the line again; ends a text in C; turns what follows; is not seen at all.
COMMANDS = ("\x1b[2J", "\x9b2J", "\x07", "\r", "\x00", "\u202e", "\u2066", "\u200b", "\ufeff", "\udcff")
FORMULAS = ("=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1+1")


def leaves(node: Any) -> Iterator[tuple[Any, Any]]:
    """Where a document has texts: the list or object, and the place in it."""
    for place, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if isinstance(value, str):
            yield node, place
        else:
            yield from leaves(value)


def spoilt(run: Run, words: str) -> Run:
    """The run with the words at the begin and the end of every text that may be any."""
    document = msgspec.to_builtins(run)
    for node, place in leaves(document):
        before = node[place]
        node[place] = f"{words}{before}{words}"
        try:
            msgspec.convert(document, Run)
        except msgspec.ValidationError:
            node[place] = before
    return msgspec.convert(document, Run)


def texts_in(page: str) -> str:
    """A page with what its scripts unpack, but for the library."""
    packed = re.findall(r'<script[^>]*type="application/octet-stream"[^>]*>([^<]+)</script>', page)
    unpacked = [json.loads(gzip.decompress(base64.b64decode(each))) for each in packed]
    return page + "".join(node[place] for node, place in leaves(unpacked) if place != "library")


def written(document: Document, format_name: str) -> str:
    out = io.StringIO()
    write(document, format_name, out)
    return texts_in(out.getvalue()) if format_name == "html" else out.getvalue()


@pytest.fixture
def run() -> Run:
    key = ("copy", "h2d", "pinned")
    cases = synthetic.cases({key: synthetic.Truth(8e-6, 50e9)}, [1 << 20, 2 << 20, 4 << 20])
    made: Run = synthetic.run([*cases, *synthetic.skips(key, [8 << 20], "no memory")])
    return made


@pytest.mark.parametrize("format_name", ["terminal", "markdown", "html", "csv"])
@pytest.mark.parametrize("command", COMMANDS[:-1], ids=ascii)
def test_a_run_commands_nothing(run: Run, command: str, format_name: str) -> None:
    text = written(runs_document([spoilt(run, command)]), format_name)
    assert not set(text) & set("".join(COMMANDS)) - set("[2J")
    assert plain(command).replace("\\", "") in text.replace("\\", "")


@pytest.mark.parametrize("format_name", ["terminal", "markdown", "html", "json", "csv"])
@pytest.mark.parametrize("command", COMMANDS[:-1], ids=ascii)
def test_a_trace_commands_nothing(tmp_path: Path, command: str, format_name: str) -> None:
    from isthmus.report.trace.document import trace_document

    (tmp_path / "a.itrace").write_bytes(whole())
    trace = open_trace(tmp_path / "a.itrace")
    named = replace(
        trace,
        names=tuple(f"{command}{name}" for name in trace.names),
        devices={number: f"{command}{name}" for number, name in trace.devices.items()},
        processes=tuple(replace(each, name=f"{command}{each.name}") for each in trace.processes),
        notes=(command,),
    )
    text = written(trace_document(named), format_name)
    assert not set(text) & set("".join(COMMANDS)) - set("[2J")


@pytest.mark.parametrize("name", [each.name for each in formats_for("acceleration")])
@pytest.mark.parametrize("command", COMMANDS[:-1], ids=ascii)
def test_what_a_program_is_called_commands_nothing(command: str, name: str) -> None:
    """Also where it is the heading, of several lines, and where the program wrote why it failed."""
    counts = Counts(1, [], dict.fromkeys(REASONS, (0, 0)), [f"{command}failed"], refused=[f"{command}.ledger: odd"])
    document = acceleration_document(counts, f"a{command}b\nsecond{command}")
    text = written(document, name)
    assert not set(text) & set("".join(COMMANDS)) - set("[2J")
    assert "second" in text
    if name == "html":
        assert page_title(document) in text


def test_what_a_spreadsheet_would_compute_is_text(run: Run) -> None:
    for formula in FORMULAS:
        text = written(runs_document([spoilt(run, formula)]), "csv")
        cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
        assert any(cell.startswith("'") for cell in cells)
        assert [cell for cell in cells if cell.startswith(tuple("=+-@\t\r\uff1d"))] == []


def test_numbers_stay_numbers(run: Run, rendered: Callable[..., str]) -> None:
    """Also where they are texts: a name that is a negative number is one in a spreadsheet, too."""
    for row in csv.DictReader(io.StringIO(rendered("csv", spoilt(run, "")))):
        assert not [value for value in row.values() if value.startswith("'")]
        assert float(row["median"] or 0) >= 0
    named = msgspec.structs.replace(run, run="-3.5e-7")
    assert "\n-3.5e-7,cuda," in rendered("csv", named)


@pytest.mark.parametrize("command", COMMANDS, ids=ascii)
def test_messages_command_nothing(capsys: pytest.CaptureFixture[str], command: str) -> None:
    to_stderr(f"isthmus: a{command}b: not found\nsecond line")
    first, second = capsys.readouterr().err.splitlines()
    assert first.isprintable()
    assert first.startswith("isthmus: a\\")
    assert second == "second line"


def test_words_stay_as_they_are() -> None:
    for words in ("Grüße", "\u4e2d\u6587\u3000\u8cc7\u6599", "1\u202f000\xa0B", "a\tb\nc"):
        assert plain(words) == words
        assert printable(words) == " ".join(words.split())
