"""Gives what reads run files runs that were altered at random, guided by which lines they reach.

    python tests/fuzz/fuzz_runs.py [options of libFuzzer]

A run ends in reports, comparisons, plans and a fleet, or in an error that says what is wrong with it; anything else is
a finding, a warning of NumPy and a figure that is none included, and the file is kept. The first runs are a few cases
of each experiment of kept ones; they are altered as JSON, so that most are read.
"""

import gc
import io
import json
import os
import random
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from isthmus.compare import check, compare, known_references, read_reference
from isthmus.document.document import Document
from isthmus.errors import IsthmusError, ReportFailed, RunFileError
from isthmus.files import read_bounded
from isthmus.fleet import survey
from isthmus.plan import answer
from isthmus.record import BufferNeed, ManagedNeed, Need, PiecesNeed, PipelineNeed, Run, SectionNeed, read_run
from isthmus.report import vega, write
from isthmus.report.comparison.document import comparison_document
from isthmus.report.fleet.document import fleet_document
from isthmus.report.plan import plan_document
from isthmus.report.runs import runs_document

REPOSITORY = Path(__file__).resolve().parents[2]
# In memory where the machine has such a place.
_SCRATCH = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
KEPT = ("h200-all", "h200-openacc", "h100x2-stencil-30720", "h200-overlap", "h100-latency", "h200x2-threads")
CASES = 24
SAMPLES = 12
MIB = 1 << 20
NEEDS: tuple[Need, ...] = (
    BufferNeed(MIB, "both", uses=3, source="new"),
    PiecesNeed(1000, 256),
    SectionNeed(1024, 4096, 240 * 1024),
    ManagedNeed(64 * MIB, fraction=0.3),
    PipelineNeed(16 * MIB, 0.005),
)
NUMBERS = (0, 1, -1, 2, 3, 4096, 0.0, -0.0, 5e-324, 1e-310, 1e-9, 0.5, 1e9, 1e308, 2**31, 2**53, 2**63 - 1, 2**64 - 1)
TEXTS = (
    "",
    " ",
    "0",
    "=1+1",
    "\x1b[2J",
    "\u202e\x00",
    "<b>",
    "{0}",
    "%s",
    "a" * 500,
    "\U0001f600",
    "/",
    "copy",
    "pinned",
)
NO_FIGURE = re.compile(r"(?<![\w-])(?:nan|-?inf)(?!\w)")


def seeds(folder: Path) -> None:
    """A run for each experiment of the kept ones, with a few cases and samples."""
    for name in KEPT:
        run = json.loads(read_bounded(REPOSITORY / "results" / f"{name}.json.gz"))
        for experiment in sorted({case["experiment"] for case in run["cases"]}):
            cases = [case for case in run["cases"] if case["experiment"] == experiment]
            cases = cases[:: max(1, len(cases) // CASES)]
            for series in (series for case in cases for series in case.get("series", ())):
                series["samples"] = series["samples"][:SAMPLES]
            (folder / f"{name}-{experiment}").write_text(json.dumps(run | {"cases": cases}))


def altered(content: bytes, chance: random.Random) -> bytes:
    """The run with one to four things changed, which the schema allows if that takes few tries."""
    for _ in range(4):
        run = json.loads(content)
        for _ in range(chance.choice((1, 1, 2, 4))):
            chance.choice((_one_value, _one_value, _all_values, _samples, _cases, _left_out))(run, chance)
        changed = json.dumps(run).encode()
        if _is_run(changed):
            break
    return changed


def _is_run(content: bytes) -> bool:
    import msgspec

    try:
        msgspec.json.decode(content, type=Run)
    except msgspec.DecodeError:
        return False
    return True


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Where a document has numbers and texts: the list or object, and the place in it."""
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for place, value in list(pairs):
        if isinstance(value, dict | list):
            yield from _places(value)
        else:
            yield node, place


def _other(value: Any, chance: random.Random) -> Any:
    return chance.choice(TEXTS if isinstance(value, str) else (True, False, *NUMBERS))


def _one_value(run: Any, chance: random.Random) -> None:
    """Not of samples, which are most values."""
    found = [(node, place) for node, place in _places(run) if isinstance(node, dict)]
    node, place = chance.choice(found)
    node[place] = _other(node[place], chance)


def _all_values(run: Any, chance: random.Random) -> None:
    """Of one name, in all cases or some."""
    found = [(node, place) for node, place in _places(run) if isinstance(node, dict)]
    name = chance.choice(found)[1]
    share, other = chance.choice((1.0, 0.5)), None
    for node, place in found:
        if place == name and chance.random() < share:
            other = _other(node[place], chance) if other is None else other
            node[place] = other


def _samples(run: Any, chance: random.Random) -> None:
    """Of one metric in one case, in some, or in all: none, one, all the same, or some extreme."""
    found = [
        series for case in run["cases"] for series in case.get("series", ()) if series.keys() >= {"metric", "samples"}
    ]
    if not found:
        return
    metric, share = chance.choice(found)["metric"], chance.choice((1.0, 0.5, 0.05))
    number, how = abs(chance.choice(NUMBERS)), chance.randrange(4)
    for series in found:
        if series["metric"] == metric and chance.random() < share:
            count = len(series["samples"])
            series["samples"] = ([], [number], [number] * count, [*series["samples"][:-1], number])[how]


def _cases(run: Any, chance: random.Random) -> None:
    cases = run.get("cases")
    if not cases:
        return
    one, other = chance.choice(cases), chance.choice(cases)
    how = chance.randrange(4)
    if how == 0:
        cases.append(one)
    elif how == 1:
        del cases[chance.randrange(len(cases)) :]
    elif how == 2:
        cases[:] = [each for each in cases if each.get("method") != one.get("method")]
    else:
        # What one says of itself with what the other measured.
        cases.append(one | {name: other[name] for name in ("series", "bytes") if name in other})


def _left_out(run: Any, chance: random.Random) -> None:
    node, place = chance.choice([(node, place) for node, place in _places(run) if isinstance(node, dict)])
    del node[place]


def consume(path: Path, base: Path) -> None:
    """All that is done with runs. Raises IsthmusError where one is refused."""
    run, other = read_run(path), read_run(base)
    for formats, make in (
        (("terminal", "csv", "markdown", "html"), lambda: runs_document([run])),
        (("terminal",), lambda: runs_document([run, other])),
        (("terminal", "json", "html"), lambda: comparison_document(compare(other, run))),
        (("markdown",), lambda: comparison_document(compare(run, other))),
        (("terminal",), lambda: comparison_document(check(read_reference(known_references()[0]), run))),
        (("terminal", "json", "html", "csv", "prometheus"), lambda: fleet_document(survey([path, base]))),
        *((("terminal", "json"), _plan(run, need)) for need in NEEDS),
    ):
        _written(make, formats)


def _plan(run: Run, need: Need) -> Callable[[], Document]:
    return lambda: plan_document(answer(run, need), explain=True)


def _written(make: Callable[[], Document], formats: tuple[str, ...]) -> None:
    try:
        document = make()
        for name in formats:
            out = io.StringIO()
            write(document, name, out)
            if name == "terminal" and (found := NO_FIGURE.search(out.getvalue())):
                raise AssertionError(f"{found[0]} stands where a figure should")
    except ReportFailed as failed:
        raise AssertionError(f"{failed}") from failed
    except IsthmusError:
        return  # The others may go on.


def main() -> None:
    warnings.simplefilter("error", RuntimeWarning)
    vars(vega)["packed_script"] = str
    with tempfile.TemporaryDirectory(dir=_SCRATCH) as folder:
        first = Path(folder) / "seeds"
        first.mkdir()
        seeds(first)
        for base in sorted(first.iterdir()):
            consume(base, base)  # A seed that is refused would lead nowhere.
        path = Path(folder) / "run.json"

        def once(content: bytes) -> None:
            path.write_bytes(content)
            try:
                consume(path, base)
            except RunFileError:
                return

        def mutate(content: bytes, most: int, seed: int) -> bytes:
            try:
                return altered(content, random.Random(seed))[:most]
            except (ValueError, TypeError, AttributeError, IndexError, KeyError, RecursionError):
                mutated: bytes = atheris.Mutate(content, most)
                return mutated

        # Ours alone: all functions of what draws and counts take minutes, and guide nobody.
        for function in [each for each in gc.get_objects() if isinstance(each, FunctionType)]:
            if (function.__module__ or "").startswith("isthmus."):
                atheris.instrument_func(function)
        atheris.Setup([*sys.argv, "-max_len=200000", str(first)], once, custom_mutator=mutate)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
