"""The tidy table of one or several runs as comma-separated values, in the column order that scripts rely on."""

import csv
from collections.abc import Sequence
from typing import TextIO

from isthmus.record import COLUMNS, Run, rows


def write(runs: Sequence[Run], out: TextIO) -> None:
    """Write a header line and one line for each case and metric to `out`; times in seconds, lines end in a newline."""
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(runs))
