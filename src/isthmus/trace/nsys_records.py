"""Records of an export of nsys that can be right, with processes and devices numbered as in a trace."""

from collections.abc import Sequence

import numpy as np

from isthmus.trace.columns import UNKNOWN, Integers
from isthmus.trace.joins import CORRELATIONS, looked_up
from isthmus.trace.nsys_names import physical_devices
from isthmus.trace.nsys_tables import Tables

__all__ = ["Columns", "number_devices", "number_processes", "records"]

Columns = dict[str, Integers]

# CUPTI's word for no device, stream or correlation.
_NONE = 0xFFFFFFFF
# Times count from when the recording began. Nothing that a program does lasts a year.
_MOST_NS = 365 * 24 * 3600 * 10**9
_LAST_NS = 1 << 62
# An address space.
_MOST_BYTES = 1 << 48


def records(tables: Tables, table: str, required: Sequence[str], optional: Sequence[str]) -> Columns:
    """The records of a table that can be right, by when they began."""
    columns = tables.numbers(table, ("start", "end", *required), optional)
    start, end = columns["start"], columns["end"]
    # CUPTI gives 0 for both where it got no times.
    sound = (start >= 0) & (end > 0) & (end >= start) & (end < _LAST_NS)
    sound &= end - np.where(sound, start, end) <= _MOST_NS
    if "bytes" in columns:
        sound &= (columns["bytes"] >= 0) & (columns["bytes"] <= _MOST_BYTES)
    if wrong := int(sound.size - sound.sum()):
        tables.notes.append(f"{table}: left out {wrong} of {sound.size} records, whose times or sizes cannot be right.")
    kept = np.flatnonzero(sound)
    kept = kept[np.argsort(start[kept], kind="stable")]
    columns = {name: column[kept] for name, column in columns.items()}
    for name in ("deviceId", "streamId", "correlationId"):
        if name in columns:
            columns[name][(columns[name] < 0) | (columns[name] >= _NONE)] = UNKNOWN
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
