"""The tidy table by Arrow's C stream: what CSV has, with types, in memory that outlives run, stream and interpreter."""

import gc
from pathlib import Path
from typing import Any

import pytest

from isthmus.notebook import MeasuredRun, open_run
from isthmus.record import COLUMN_TYPES, Case, Series, rows
from tests.processes import python
from tests.synthetic import runs as synthetic

KEPT = Path(__file__).resolve().parents[3] / "results"
RUNS = ("h200-managed", "h200-stencil", "h100x2-peers", "pocl-pieces")

KINDS = {"large_string": str, "double": float, "int64": int}


def frames(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed; the extra `notebook` has it")


def made(*notes: str) -> MeasuredRun:
    times = [Series(metric="host_seconds", samples=[1e-6, 2e-6, 4e-6])]
    skipped = [
        Case(experiment="bandwidth", method="copy", host_memory="pinned", bytes=1 << 53, skipped=True, note=note)
        for note in notes
    ]
    measured = Case(experiment="bandwidth", method="copy", host_memory="", bytes=0, fraction=0.5, series=times)
    return MeasuredRun(synthetic.run([*skipped, *([measured] if notes else [])]))


@pytest.mark.parametrize("name", RUNS)
def test_the_table_is_that_of_csv(name: str) -> None:
    pyarrow = frames("pyarrow")
    run = open_run(KEPT / f"{name}.json.gz")
    table = pyarrow.table(run)
    table.validate(full=True)
    assert table.column_names == list(COLUMN_TYPES)
    read = table.to_pylist()
    texts = list(rows([run.record]))
    assert len(read) == len(texts) > 10
    for row, text in zip(read, texts, strict=True):
        for column, value in row.items():
            kind = KINDS[str(table.schema.field(column).type)]
            assert value == (kind(text[column]) if text[column] else None), column
    for column, nulls in zip(table.itercolumns(), table.column_names, strict=True):
        assert column.null_count == sum(not text[nulls] for text in texts)


def test_types_do_not_depend_on_what_a_run_has() -> None:
    pyarrow = frames("pyarrow")
    for run in (made(), made("no memory")):
        for field in pyarrow.table(run).schema:
            assert KINDS[str(field.type)] is COLUMN_TYPES[field.name]
            assert field.nullable


def test_any_text_and_number_arrives() -> None:
    pyarrow = frames("pyarrow")
    notes = ["", "a\0b", "\N{SNOWMAN}" * 1000, "=cmd|' /C calc'!A0", *map(str, range(61))]
    table = pyarrow.table(made(*notes))
    assert table["note"].to_pylist() == [note or None for note in [*notes, ""]]
    assert table["bytes"].to_pylist() == [1 << 53] * len(notes) + [0]
    assert table["median"].to_pylist() == [None] * len(notes) + [2e-6]


def test_a_run_without_cases_is_an_empty_table() -> None:
    table = frames("pyarrow").table(made())
    table.validate(full=True)
    assert (table.num_rows, table.num_columns) == (0, len(COLUMN_TYPES))


def test_a_column_outlives_everything_else() -> None:
    pyarrow = frames("pyarrow")
    run = made("first", "second")
    column = pyarrow.table(run)["note"]
    del run
    gc.collect()
    assert column.to_pylist() == ["first", "second", None]


def test_a_stream_that_is_not_read_or_read_again_is_well_behaved() -> None:
    pyarrow = frames("pyarrow")
    run = made("why")
    run.__arrow_c_stream__()
    reader = pyarrow.RecordBatchReader.from_stream(run)
    assert [batch.num_rows for batch in reader] == [2]
    del reader
    assert pyarrow.table(run).equals(pyarrow.table(run))
    wanted = pyarrow.schema([("note", pyarrow.string())])
    assert run.__arrow_c_stream__(wanted.__arrow_c_schema__()) is not None


@pytest.mark.parametrize(
    ("package", "call"), [("polars", "DataFrame"), ("pandas", "DataFrame.from_arrow"), ("polars", "DataFrame.lazy")]
)
def test_data_frames_take_it(package: str, call: str) -> None:
    module = frames(package)
    if package == "pandas" and not hasattr(module.DataFrame, "from_arrow"):
        pytest.skip("this pandas takes no Arrow stream; from 3.0 on it does")
    run = made("why")
    frame = module.DataFrame(run) if package == "polars" else module.DataFrame.from_arrow(run)
    if call == "DataFrame.lazy":
        frame = frame.lazy().filter(module.col("note") == "why").collect()
        assert frame["bytes"].to_list() == [1 << 53]
        return
    assert list(frame.columns) == list(COLUMN_TYPES)
    assert frame["median"].max() == 2e-6
    assert [value for value in frame["note"] if isinstance(value, str)] == ["why"]


def test_what_the_interpreter_leaves_behind_is_released_without_it() -> None:
    frames("pyarrow")
    code = (
        "import pyarrow, isthmus, sys, threading\n"
        f"run = isthmus.open_run({str(KEPT / 'pocl-pieces.json.gz')!r})\n"
        "sys.kept = [pyarrow.table(run), run.__arrow_c_stream__()]\n"
        "holder = [pyarrow.table(run)]\n"
        "thread = threading.Thread(target=holder.clear); thread.start(); thread.join()\n"
        "del isthmus, run\n"
        "print('ended')\n"
    )
    ended = python(code)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ended\n", "")
