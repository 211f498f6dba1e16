"""Run files that somebody edited: sizes and counts of none, phases of no time, and numbers as large as they may be."""

import io
import json
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from isthmus.compare import compare
from isthmus.document.document import Document
from isthmus.errors import IsthmusError, ReportFailed, RunFileError
from isthmus.files import read_bounded
from isthmus.fleet import survey
from isthmus.plan import answer
from isthmus.record import BufferNeed, ManagedNeed, PiecesNeed, read_run
from isthmus.report import write
from isthmus.report.comparison.document import comparison_document
from isthmus.report.fleet.document import fleet_document
from isthmus.report.plan import plan_document
from isthmus.report.runs import runs_document

RESULTS = Path(__file__).resolve().parents[2] / "results"
# Any number of such a name, anywhere in the file.
EDITS: dict[str, dict[str, Any]] = {
    "sizes of none": {"bytes": 0},
    "pieces of none": {"pieces": 0, "rows": 0, "slices": 0},
    "widths of none": {"width_bytes": 0, "pitch_bytes": 0, "stride_bytes": 0, "device_pitch_bytes": 0},
    "counts of none": {"threads": 0, "streams": 0, "devices": 0, "ranks": 0, "halo": 0, "uses": 0},
    "shares of none": {"fraction": 0.0, "moved_bytes": 0},
    "a machine of nothing": dict.fromkeys(("generation", "width", "memory_bytes", "total_bytes", "sockets"), 0),
    "as large as can be": {"bytes": 1 << 53, "pieces": 1 << 53, "moved_bytes": 1 << 53},
    "thirty years": {"samples": 1e9},
    "as short as can be": {"samples": 1e-12},
    "no samples": {"samples": None},
}


def edited(node: Any, names: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [edited(each, names) for each in node]
    if not isinstance(node, dict):
        return node
    found = {name: edited(value, names) for name, value in node.items()}
    for name, value in names.items():
        if isinstance(found.get(name), list):
            found[name] = [] if value is None else [value] * len(found[name])
        elif found.get(name) is not None:
            found[name] = value
    return found


def documents(path: Path, base: Path) -> Iterator[tuple[Callable[[], Document], tuple[str, ...]]]:
    """All that is made of runs, and in which formats."""
    run, other = read_run(path), read_run(base)
    yield lambda: runs_document([run, other]), ("terminal", "csv", "markdown", "html")
    yield lambda: comparison_document(compare(other, run)), ("terminal", "json")
    yield lambda: comparison_document(compare(run, run)), ("terminal",)
    yield lambda: fleet_document(survey([path, base])), ("terminal", "json", "csv")
    for need in (BufferNeed(1 << 20, "both", uses=3, source="new"), PiecesNeed(1000, 256), ManagedNeed(1 << 26)):
        yield lambda need=need: plan_document(answer(run, need), explain=True), ("terminal", "json")  # type: ignore[misc]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["h200-seed000", "h200-openacc", "h100-latency"])
@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_run_is_shown_with_dashes_or_refused(tmp_path: Path, name: str, edit: str) -> None:
    base, path = tmp_path / "base.json", tmp_path / "edited.json"
    content = read_bounded(RESULTS / f"{name}.json.gz")
    base.write_bytes(content)
    path.write_text(json.dumps(edited(json.loads(content), EDITS[edit])))
    assert path.read_bytes() != content
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            found = list(documents(path, base))
        except RunFileError as refused:
            assert f"{path}: " in str(refused)  # noqa: PT017 - refused or shown
            return
        for make, formats in found:
            for format_name in formats:
                out = io.StringIO()
                try:
                    write(make(), format_name, out)
                except ReportFailed:
                    raise
                except IsthmusError:
                    continue
                assert format_name != "terminal" or not re.search(r"(?<![\w-])-?(nan|inf)(?!\w)", out.getvalue())
