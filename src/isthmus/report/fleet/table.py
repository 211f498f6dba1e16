"""Every figure of a fleet as a table: comma-separated values, or Parquet where pyarrow is there."""

import csv
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TextIO

from isthmus.errors import UsageError
from isthmus.fleet import FLEET_COLUMNS, Survey, fleet_rows

_ROWS_PER_GROUP = 100_000


def write(survey: Survey, out: TextIO) -> None:
    """Write a header line and one line for each point of each device to `out`."""
    writer = csv.DictWriter(out, FLEET_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(fleet_rows(survey))


def check_parquet() -> None:
    """Raise UsageError, before anything is read, where Parquet cannot be written."""
    if find_spec("pyarrow") is None:
        raise UsageError(
            "Parquet needs pyarrow, which is not installed; pip install 'isthmus[parquet]', or use --format csv"
        )


def write_parquet(survey: Survey, path: Path) -> None:
    """Write the same rows as a Parquet file, some at a time."""
    check_parquet()
    import pyarrow
    from pyarrow import parquet

    types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64()}
    schema = pyarrow.schema([(name, types[kind]) for name, kind in FLEET_COLUMNS.items()])
    rows = fleet_rows(survey)
    with parquet.ParquetWriter(path, schema) as writer:
        while part := list(islice(rows, _ROWS_PER_GROUP)):
            writer.write_table(pyarrow.Table.from_pylist(part, schema=schema))
