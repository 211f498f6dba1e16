"""Copies that no device reported: untimed ones, and the last ones of programs that were killed."""

import numpy as np

from isthmus.trace.columns import UNKNOWN, Allocations, Integers, direction_index, memory_index
from isthmus.trace.isthmus.records import MAYBE_TIMED, Records, called_copies
from isthmus.trace.live_memory import kinds_at
from isthmus.trace.recorded import MOST_BYTES, places_of
from isthmus.trace.untimed import Waits, estimated_times


def unreported_copies(
    timed: Records,
    kernels: Records,
    operands: Records,
    calls: Records,
    waits: Waits,
    allocations: Allocations,
    ended: Integers,
    notes: list[str],
) -> Records:
    """Copies that calls made and no device reported, with estimated times; `notes` says how many."""
    seen = places_of(operands["process"], operands["correlation"], timed["process"], timed["correlation"])
    call = places_of(operands["process"], operands["correlation"], calls["process"], calls["correlation"])
    rows = np.flatnonzero(
        (seen == UNKNOWN)
        & (call != UNKNOWN)
        & ((operands["timing"] >= MAYBE_TIMED) | ~ended[operands["process"]])
        & (operands["bytes"] > 0)
        & (operands["bytes"] <= MOST_BYTES)
    )
    found = called_copies(operands, rows)
    known = found["direction"] != UNKNOWN
    rows, found = rows[known], {name: column[known] for name, column in found.items()}
    call = call[rows]
    found |= {"start_ns": calls["start_ns"][call], "end_ns": calls["end_ns"][call]}
    found |= _memory_kinds(found, allocations)
    untimed = np.flatnonzero(operands["timing"][rows] >= MAYBE_TIMED)
    if lost := int(rows.size - untimed.size):
        notes.append(
            f"{lost} copies were called for, but the program ended before the device told when it made them: "
            "they have the times of their calls."
        )
    if untimed.size:
        without_times = {name: column[untimed] for name, column in found.items()}
        for name, column in estimated_times(timed, kernels, without_times, calls, waits).items():
            found[name][untimed] = column
        notes.append(
            f"{untimed.size} of {untimed.size + timed['bytes'].size} copies came so fast that timing them would have "
            "slowed the program: when the device made them is estimated from those it timed. "
            "To time all: isthmus trace --all-times."
        )
    return found


def _memory_kinds(copies: Records, allocations: Allocations) -> Records:
    """The kinds of memory at both ends: as it was got, else by the side of the copy that it is on."""
    kinds = {}
    for side, from_host in (("source", ("h2d", "h2h")), ("destination", ("d2h", "h2h"))):
        on_host = np.isin(copies["direction"], [direction_index(name) for name in from_host])
        otherwise = np.where(on_host, memory_index("pageable"), memory_index("device"))
        known = kinds_at(copies["process"], copies[f"{side}_address"], copies["start_ns"], allocations)
        kinds[side] = np.where(known == UNKNOWN, otherwise, known)
    return kinds
