"""The figures of a document as comma-separated values, in the column order that scripts rely on."""

import csv
from typing import TextIO

from isthmus.document.document import Document


def write(document: Document, out: TextIO) -> None:
    """Write a header and a line for each record; times in the unit that their column names, lines end in a newline."""
    assert document.records
    writer = csv.DictWriter(out, document.records.columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(document.records.rows())
