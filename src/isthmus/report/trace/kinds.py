"""Copies of a trace by what a report calls them."""

from dataclasses import dataclass

import numpy as np

from isthmus.report.trace.names import copy_name
from isthmus.trace import CAUSES, MEMORY_KINDS, UNKNOWN, Copies, Integers, direction_index


@dataclass(frozen=True)
class CopyKind:
    """Copies, or migrations, of one name, by their places; `memory` is the kind on the host, if any."""

    name: str
    migration: bool
    memory: str
    rows: Integers


def copy_kinds(copies: Copies) -> list[CopyKind]:
    """All copies, each in one kind."""
    # One number for all that tells kinds apart, with room for UNKNOWN.
    causes, kinds = len(CAUSES) + 1, len(MEMORY_KINDS) + 1
    key = copies.direction + 1
    for column, choices in ((copies.source, kinds), (copies.destination, kinds), (copies.cause, causes)):
        key = key * choices + column + 1
    found: dict[str, CopyKind] = {}
    for rows in groups(key * 2 + copies.migration.clip(0)):
        kind = _kind(copies, rows)
        same = found.get(kind.name)
        # Kinds that differ in what goes without saying have one name.
        found[kind.name] = kind if same is None else _joined(same, rows)
    return list(found.values())


def groups(keys: Integers) -> list[Integers]:
    """The places of equal keys, ascending in each group."""
    if not keys.size:
        return []
    order = np.argsort(keys, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)


def _kind(copies: Copies, rows: Integers) -> CopyKind:
    columns = (copies.direction, copies.source, copies.destination, copies.cause)
    direction, source, destination, cause = (int(column[rows[0]]) for column in columns)
    migration = bool(copies.migration[rows[0]] == 1)
    on_host = {direction_index("h2d"): source, direction_index("d2h"): destination}.get(direction, UNKNOWN)
    memory = "" if on_host == UNKNOWN else MEMORY_KINDS[on_host]
    return CopyKind(
        copy_name(direction, source, destination, migration=migration, cause=cause), migration, memory, rows
    )


def _joined(one: CopyKind, rows: Integers) -> CopyKind:
    return CopyKind(one.name, one.migration, one.memory, np.sort(np.concatenate((one.rows, rows))))
