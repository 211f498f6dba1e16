"""Every figure of a fleet as a Parquet file, some rows at a time."""

from itertools import islice
from typing import BinaryIO

from isthmus.document.document import Document
from isthmus.fleet import FLEET_COLUMNS

_ROWS_PER_GROUP = 100_000


def write(document: Document, out: BinaryIO) -> None:
    """Write the rows of the CSV table, typed."""
    import pyarrow
    from pyarrow import parquet

    assert document.records
    types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64()}
    schema = pyarrow.schema([(name, types[kind]) for name, kind in FLEET_COLUMNS.items()], {"format": "isthmus.fleet"})
    rows = iter(document.records.rows())
    with parquet.ParquetWriter(out, schema) as writer:
        while part := list(islice(rows, _ROWS_PER_GROUP)):
            writer.write_table(pyarrow.Table.from_pylist(part, schema=schema))
