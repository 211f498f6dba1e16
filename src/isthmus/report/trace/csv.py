"""The copies of a trace as comma-separated values, one line each, in the column order that scripts rely on."""

import csv
from collections.abc import Iterator
from typing import Any, TextIO

from isthmus.report.trace.records import COPY_COLUMNS, copy_records
from isthmus.trace import Trace

# Between the frames of a site, the innermost first.
_CALLED_FROM = " < "


def write(trace: Trace, out: TextIO) -> None:
    """Write a header and one line for each copy and migration; what is not known is empty, lines end in a newline."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COPY_COLUMNS)
    writer.writerows(map(_cells, copy_records(trace)))


def _cells(record: tuple[Any, ...]) -> Iterator[Any]:
    for value in record:
        if isinstance(value, bool):
            yield "yes" if value else "no"
        else:
            yield _CALLED_FROM.join(value) if isinstance(value, list) else value
