"""Columns of Python values as a stream of Apache Arrow's C data interface, which data frames take without a copy."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np

from isthmus import _native
from isthmus.record import COLUMN_TYPES

_Values = Sequence[str | int | float | None]


def stream_of(columns: Mapping[str, _Values]) -> object:
    """A capsule of the PyCapsule interface with columns of the tidy table, all of one length.

    Whole numbers are int64, others float64, texts large_string.
    """
    rows = len(next(iter(columns.values()), ()))
    return _native.arrow_stream(rows, [_column(name, values) for name, values in columns.items()])


def _column(name: str, values: _Values) -> tuple[str, str, int, list[bytes]]:
    there = np.packbits(np.array([value is not None for value in values], bool), bitorder="little").tobytes()
    nulls = sum(value is None for value in values)
    if COLUMN_TYPES[name] is str:
        texts = [b"" if value is None else str(value).encode() for value in values]
        ends = np.array([0, *accumulate(map(len, texts))], np.int64)
        return name, "U", nulls, [there, ends.tobytes(), b"".join(texts)]
    kind, arrow = (np.float64, "g") if COLUMN_TYPES[name] is float else (np.int64, "l")
    numbers = np.array([0 if value is None else value for value in values], kind)
    return name, arrow, nulls, [there, numbers.tobytes()]
