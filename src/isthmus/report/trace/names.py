"""What a report of a trace calls copies, memory and kernels, and its copies by what they are called."""

from dataclasses import dataclass

import numpy as np

from isthmus.language import say
from isthmus.trace import CAUSES, DIRECTIONS, MEMORY_KINDS, UNKNOWN, Copies, Integers, direction_index, grouped

_ON_DEVICE = (MEMORY_KINDS.index("device"), UNKNOWN)


@dataclass(frozen=True)
class CopyKind:
    """Copies, or migrations, of one name, by their places; `memory` is the kind on the host, if any."""

    name: str
    migration: bool
    memory: str
    rows: Integers


def direction_name(direction: int) -> str:
    """``H2D`` of one of `DIRECTIONS`."""
    if direction == UNKNOWN:
        return "?"
    return say("common.way_peer") if DIRECTIONS[direction] == "peer" else DIRECTIONS[direction].upper()


def copy_name(direction: int, source: int, destination: int, *, migration: bool, cause: int = UNKNOWN) -> str:
    """``copy H2D pinned``, with both kinds of memory where one of them is not simply the device's own."""
    shown = direction_name(direction)
    if migration:
        if cause == UNKNOWN:
            return say("trace_report.migration", direction=shown)
        because = say(f"trace_report.cause_{CAUSES[cause].replace(' ', '_')}")
        return say("trace_report.migration_because", direction=shown, cause=because)
    name = "" if direction == UNKNOWN else DIRECTIONS[direction]
    # What a direction implies of the device's side is not shown.
    if name == "h2d" and destination in _ON_DEVICE:
        return say("trace_report.copy_memory", direction=shown, memory=_memory(source))
    if name == "d2h" and source in _ON_DEVICE:
        return say("trace_report.copy_memory", direction=shown, memory=_memory(destination))
    if source in _ON_DEVICE and destination in _ON_DEVICE:
        return say("trace_report.copy", direction=shown)
    return say("trace_report.copy_between", direction=shown, source=_memory(source), destination=_memory(destination))


def copy_kinds(copies: Copies) -> list[CopyKind]:
    """All copies, each in one kind."""
    # One number for all that tells kinds apart, with room for UNKNOWN.
    causes, kinds = len(CAUSES) + 1, len(MEMORY_KINDS) + 1
    key = copies.direction + 1
    for column, choices in ((copies.source, kinds), (copies.destination, kinds), (copies.cause, causes)):
        key = key * choices + column + 1
    by_name: dict[str, CopyKind] = {}
    for rows in grouped(key * 2 + copies.migration.clip(0)):
        columns = (copies.direction, copies.source, copies.destination, copies.cause)
        direction, source, destination, cause = (int(column[rows[0]]) for column in columns)
        migration = bool(copies.migration[rows[0]] == 1)
        on_host = {direction_index("h2d"): source, direction_index("d2h"): destination}.get(direction, UNKNOWN)
        memory = "" if on_host == UNKNOWN else MEMORY_KINDS[on_host]
        kind = CopyKind(
            copy_name(direction, source, destination, migration=migration, cause=cause), migration, memory, rows
        )
        same = by_name.get(kind.name)
        # Kinds that differ in what goes without saying have one name.
        by_name[kind.name] = kind if same is None else _joined(same, rows)
    return list(by_name.values())


def _joined(one: CopyKind, rows: Integers) -> CopyKind:
    return CopyKind(one.name, one.migration, one.memory, np.sort(np.concatenate((one.rows, rows))))


def _memory(kind: int) -> str:
    return "?" if kind == UNKNOWN else say(f"memory.label_{MEMORY_KINDS[kind]}")
