"""Records of an export of nsys that can be right, with processes and devices numbered as in a trace."""

from collections.abc import Sequence

import numpy as np

from isthmus.trace.columns import UNKNOWN, Integers
from isthmus.trace.joins import CORRELATIONS, looked_up
from isthmus.trace.nsys.names import physical_devices
from isthmus.trace.nsys.tables import Tables
from isthmus.trace.recorded import NO_NUMBER, sound_rows

Columns = dict[str, Integers]

# Times count from when the recording began.
_FIRST_NS = 0


def records(tables: Tables, table: str, required: Sequence[str], optional: Sequence[str]) -> Columns:
    """The records of a table that can be right, by when they began."""
    columns = tables.numbers(table, ("start", "end", *required), optional)
    count = columns["start"].size
    rows = sound_rows(columns["start"], columns["end"], columns.get("bytes"), _FIRST_NS)
    if wrong := int(count - rows.size):
        tables.notes.append(f"{table}: left out {wrong} of {count} records, whose times or sizes cannot be right.")
    columns = {name: column[rows] for name, column in columns.items()}
    for name in ("deviceId", "streamId", "correlationId"):
        if name in columns:
            columns[name][(columns[name] < 0) | (columns[name] >= NO_NUMBER)] = UNKNOWN
    return columns


def number_processes(recorded: Sequence[Columns]) -> Integers:
    """The keys of all processes found; each table's column ``process`` gets their places among them.

    A key is all of a global number but the thread's 24 bits, so that machines recorded together are kept apart.
    """
    keys = [columns["globalPid" if "globalPid" in columns else "globalTid"] >> 24 for columns in recorded]
    distinct = np.unique(np.concatenate(keys))
    distinct = distinct[distinct >= 0]
    for columns, key in zip(recorded, keys, strict=True):
        columns["process"] = np.where(key < 0, UNKNOWN, np.searchsorted(distinct, key))
    return distinct


def number_devices(tables: Tables, pids: Sequence[int], recorded: Sequence[Columns]) -> None:
    """Numbers devices as the machine does, if the export tells that of all: processes may each see others as theirs."""
    physical = physical_devices(tables)
    translated = {UNKNOWN: UNKNOWN}
    pairs = [
        np.where(columns["deviceId"] < 0, UNKNOWN, columns["process"] * CORRELATIONS + columns["deviceId"])
        for columns in recorded
    ]
    for pair in np.unique(np.concatenate(pairs)).tolist():
        if pair != UNKNOWN:
            process, device = divmod(pair, CORRELATIONS)
            if process < 0 or (pids[process], device) not in physical:
                return
            translated[pair] = physical[pids[process], device]
    for columns, pair_column in zip(recorded, pairs, strict=True):
        columns["deviceId"] = looked_up(pair_column, translated)
