"""Reports of kept runs hold the figures that they held before the house was rebuilt; CSV is the same to the byte."""

import gzip
import hashlib
import io
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from isthmus.record import read_run
from isthmus.report import write
from isthmus.report.runs import runs_document
from tests.integration.kept.figures import rows_of

_HERE = Path(__file__).parent
_RESULTS = _HERE.parents[2] / "results"
# Of commit 2a9f65f, but for runs that were made anew: the numbers in each row of every table, by run and heading, and
# digests of the CSV.
_OLD = json.loads(gzip.decompress((_HERE / "reports-0.1.json.gz").read_bytes()))
_APPENDED = ",blocks,neighbour,path,iterations"
# What was deleted on purpose: a pattern of headings -> why.
_REMOVED: dict[str, str] = json.loads((_HERE / "removed.json").read_text("utf-8"))


@cache
def _report(name: str, format_name: str) -> str:
    out = io.StringIO()
    write(runs_document([read_run(_RESULTS / f"{name}.json.gz")]), format_name, out)
    return out.getvalue()


def _lost(name: str) -> dict[str, list[list[str]]]:
    """Old tables of which a row's numbers stand together in no row of the new report."""
    new = list(rows_of(_report(name, "markdown")))
    index: dict[str, list[Counter[str]]] = {}
    for row in new:
        for number in row:
            index.setdefault(number, []).append(row)
    lost: dict[str, list[list[str]]] = {}
    for table, rows in _OLD["tables"][name].items():
        for numbers in rows:
            # Without the halves of intervals that had no width: they showed one sample as exact.
            wanted = Counter(number for number in numbers if number.strip("0."))
            rarest = min(wanted, default="", key=lambda number: len(index.get(number, ())))
            if not any(wanted <= row for row in index.get(rarest, ())):
                lost.setdefault(table, []).append(numbers)
    return lost


@pytest.mark.parametrize("name", _OLD["tables"])
def test_tables_hold_the_figures_that_they_held(name: str) -> None:
    unexplained = {
        table: rows for table, rows in _lost(name).items() if not any(re.search(pattern, table) for pattern in _REMOVED)
    }
    assert not unexplained, "\n".join(
        [
            "these tables lost rows: show their figures again, or name the headings with the reason in removed.json",
            *(f"{table}: {rows[:2]}" for table, rows in unexplained.items()),
        ]
    )


@pytest.mark.thorough
@pytest.mark.parametrize("name", _OLD["csv"])
def test_csv_is_the_same_to_the_byte(name: str) -> None:
    """But for columns that were appended since, which are empty in runs that are older."""
    lines = _report(name, "csv").splitlines()
    assert lines[0].endswith(_APPENDED)
    assert all(line.endswith("," * _APPENDED.count(",")) for line in lines[1:])
    old = [lines[0].removesuffix(_APPENDED), *(line[: -_APPENDED.count(",")] for line in lines[1:])]
    assert hashlib.sha256("".join(f"{line}\n" for line in old).encode()).hexdigest() == _OLD["csv"][name]


def test_every_removal_removes_something() -> None:
    """A pattern that no old heading has would hide nothing, and one that is kept again need not be listed."""
    lost = {table for name in _OLD["tables"] for table in _lost(name)}
    assert [pattern for pattern in _REMOVED if not any(re.search(pattern, table) for table in lost)] == []
