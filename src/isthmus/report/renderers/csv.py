"""The figures of a document as comma-separated values, in the column order that scripts rely on."""

import csv
from typing import Any, TextIO

from isthmus.document.document import Document
from isthmus.messages import plain

# What a spreadsheet would compute, also in the wide letters of Japanese and Chinese.
_FORMULAS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def write(document: Document, out: TextIO) -> None:
    """Write a header and a line for each record; times in the unit that their column names, lines end in a newline.

    Text that a spreadsheet would take for a formula has an apostrophe before it; numbers stay as they are.
    """
    assert document.records
    writer = csv.DictWriter(out, document.records.columns, lineterminator="\n")
    writer.writeheader()
    for row in document.records.rows():
        writer.writerow({name: _cell(value) for name, value in row.items()})


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = plain(value)
    return f"'{text}" if value.startswith(_FORMULAS) and not _is_number(value) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
