"""The lines of Python and the operators of torch that calls were made in."""

import re
from collections.abc import Iterator, Mapping

import numpy as np

from isthmus.trace import vendors
from isthmus.trace.columns import UNKNOWN, Integers
from isthmus.trace.kineto.records import Records, Table
from isthmus.trace.recorded import grouped
from isthmus.trace.trace import Site

# ``train.py(42): step``; builtins and modules, which have no line, are named otherwise.
_FRAME = re.compile(r"(.+)\((\d+)\): (.+)")
# Deeper recursions are cut off at the outer end.
_DEEPEST = 64


def call_sites(records: Records, calls: Mapping[str, Integers]) -> tuple[Integers, tuple[Site, ...]]:
    """For each call the index of where it was made, and those places; only of calls that advice asks about."""
    site = np.full(calls["start_ns"].size, UNKNOWN)
    kinds = (vendors.copies, vendors.waits, vendors.pins, vendors.allocates, vendors.frees)
    asked = [any(is_one(name) for is_one in kinds) for name in records.names]
    rows = np.flatnonzero(np.isin(calls["name"], np.flatnonzero(asked)))
    lines, operators = (_around(table, calls, rows) for table in (records.frames, records.operators))
    names = list(records.frame_names)
    sites: dict[Site, int] = {}
    for row in sorted({*lines, *operators}):
        # The outermost operator is what the program called.
        frames = [names[operators[row][-1]]] if row in operators else []
        frames += [line for name in lines.get(row, ()) if (line := _line(names[name]))]
        if frames:
            site[row] = sites.setdefault(tuple(frames), len(sites))
    return site, tuple(sites)


def _around(table: Table, calls: Mapping[str, Integers], rows: Integers) -> dict[int, tuple[int, ...]]:
    """For each of these calls that has any the names of what it was made in, the innermost first."""
    if not len(table) or not rows.size:
        return {}
    frames = table.sorted_columns()
    stacks: dict[int, tuple[int, ...]] = {}
    owner = np.concatenate([np.zeros(frames["pid"].size, np.int64), np.ones(rows.size, np.int64)])
    pids, threads = (np.concatenate([frames[key], calls[key][rows]]) for key in ("pid", "thread"))
    for group in grouped(pids, threads):
        called = rows[group[owner[group] == 1] - frames["pid"].size]
        within = group[owner[group] == 0]
        begun = np.sort(calls["start_ns"][called])
        # Most hold no such call.
        first, last = (np.searchsorted(begun, frames[key][within]) for key in ("start_ns", "end_ns"))
        stacks.update(_nested(frames, within[last > first], calls["start_ns"], called))
    return stacks


def _nested(
    frames: Mapping[str, Integers], within: Integers, started: Integers, called: Integers
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Each call of one thread with what was open when it began."""
    # What begins at one moment, the longest first.
    order = within[np.lexsort((-frames["end_ns"][within], frames["start_ns"][within]))]
    begins, ends, names = (frames[key][order].tolist() for key in ("start_ns", "end_ns", "name"))
    opened: list[tuple[int, tuple[int, ...]]] = []
    place = 0
    for call in called[np.argsort(started[called], kind="stable")].tolist():
        moment = int(started[call])
        while place < len(begins) and begins[place] <= moment:
            while opened and opened[-1][0] <= begins[place]:
                opened.pop()
            outer = opened[-1][1] if opened else ()
            opened.append((ends[place], (names[place], *outer[: _DEEPEST - 1])))
            place += 1
        while opened and opened[-1][0] < moment:
            opened.pop()
        if opened:
            yield call, opened[-1][1]


def _line(name: str) -> str:
    """A frame as other traces have it, ``train.py:42 step``; empty for what has no line."""
    match = _FRAME.fullmatch(name)
    return f"{match[1]}:{match[2]} {match[3]}" if match and not name.startswith("<") else ""
