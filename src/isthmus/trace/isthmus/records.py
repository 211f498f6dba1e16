"""Records of `isthmus trace` as the model of a trace has them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields

import numpy as np
import numpy.typing as npt

from isthmus.trace.columns import UNKNOWN, Copies, Integers, direction_index, memory_index
from isthmus.trace.recorded import (
    CAUSE_OF,
    CORRELATIONS,
    NO_NUMBER,
    OPENCL_WAITS,
    Names,
    looked_up,
    paired,
    places_of,
    sound_rows,
)

Records = dict[str, Integers]
Mask = npt.NDArray[np.bool_]

# Times count from when a machine started or from 1970.
_FIRST_NS = 1
# CUPTI's numbers: copies with arrays count as those with the device's memory.
_DIRECTIONS = {
    **dict.fromkeys((1, 3), direction_index("h2d")),
    **dict.fromkeys((2, 4), direction_index("d2h")),
    **dict.fromkeys((5, 6, 7, 8), direction_index("d2d")),
    9: direction_index("h2h"),
    10: direction_index("peer"),
}
MEMORY = {
    1: memory_index("pageable"),
    2: memory_index("pinned"),
    **dict.fromkeys((3, 4, 6), memory_index("device")),
    **dict.fromkeys((5, 7), memory_index("managed")),
}
# Counters of what moved; a migration to the device is known by where it went, another by where it came from.
_MIGRATIONS = {1: direction_index("h2d"), 2: direction_index("d2h"), 8: direction_index("peer")}
_TO_DEVICE = 1
# What operands say of a copy that its device may not have timed, and of one that it has not.
MAYBE_TIMED, NOT_TIMED = 2, 3
# And of one of the copies of a graph: devices report all of a direction, or none.
OF_GRAPH = 4
# What a call of CUDA waits for, by how its name ends.
_AWAITED = {"Stream": "stream", "Event": "event", "Device": "device", "Thread": "device", "Ctx": "device"}
# What operands say of a call that waited, or did not.
_WAITED = {1: 0, 2: 1}


class Indices(Names):
    """Texts that a trace uses, by their numbers in the processes that wrote them."""

    def __init__(self, text: Mapping[tuple[int, int], str]) -> None:
        super().__init__()
        self._text = text

    def of(self, process: Integers, number: Integers, shown: Callable[[str], str] = str) -> Integers:
        """The index of each as it is shown; UNKNOWN where no text has the number."""
        keys = process * CORRELATIONS + number
        texts = {key: self._text.get(divmod(key, CORRELATIONS)) for key in np.unique(keys).tolist()}
        return self.places(keys, {key: shown(text) for key, text in texts.items() if text is not None})


def sound(records: Records, notes: list[str], words: str) -> Records:
    """The records that can be right, by when they began."""
    start, end = records["start_ns"], records["end_ns"]
    # Faults that are moments have an end of 0.
    end = np.where(end == 0, start, end)
    rows = sound_rows(start, end, records.get("bytes"), _FIRST_NS)
    if wrong := int(start.size - rows.size):
        notes.append(f"{wrong} of {start.size} {words} were left out: their times or sizes cannot be right.")
    records = {name: column[rows] for name, column in {**records, "end_ns": end}.items()}
    if "stream" in records:
        records["stream"] = np.where(records["stream"] == NO_NUMBER, UNKNOWN, records["stream"])
    return records


def in_order(parts: Sequence[Records]) -> Records:
    """Records with the same columns as one, by when they began."""
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    order = np.argsort(joined["start_ns"], kind="stable")
    return {name: column[order] for name, column in joined.items()}


def timed_copies(records: Records, operands: Records) -> Records:
    """Copies that a device reported, with what their calls were asked to copy."""
    place = _operands_of(records, operands)
    right = _of_their_calls(records, place, operands)
    records, place = {name: column[right] for name, column in records.items()}, place[right]
    # What is replayed from a graph has the correlation of its launch, and no operands of its own.
    same = place != UNKNOWN
    same[same] = operands["bytes"][place[same]] == records["bytes"][same]

    def operand(name: str, nothing: int) -> Integers:
        values = np.full(place.size, UNKNOWN, np.int64)
        values[same] = operands[name][place[same]]
        return np.where(values == nothing, UNKNOWN, values)

    return _copies(
        records,
        direction=direction_of(records),
        source=looked_up(records["source"], MEMORY),
        destination=looked_up(records["destination"], MEMORY),
        source_address=operand("source", 0),
        destination_address=operand("destination", 0),
        rows=operand("rows", UNKNOWN),
        content=operand("content", 0),
    )


def _operands_of(records: Records, operands: Records) -> Integers:
    """The place of what each copy was called for; of several with one number, as in a graph, by direction and size."""
    place = places_of(records["process"], records["correlation"], operands["process"], operands["correlation"])
    several = of_several(operands)
    rows = np.flatnonzero((place != UNKNOWN) & np.append(several, False)[place])
    among = np.flatnonzero(several)
    alike = paired(_likeness(records, rows), _likeness(operands, among))
    place[rows] = np.where(alike == UNKNOWN, UNKNOWN, np.append(among, UNKNOWN)[alike])
    return place


def of_several(operands: Records) -> Mask:
    """Which have their process and number in common with others: copies of one graph."""
    first = places_of(operands["process"], operands["correlation"], operands["process"], operands["correlation"])
    known = first != UNKNOWN
    several: Mask = known & (np.bincount(first[known], minlength=first.size)[first] > 1)
    return several


def _likeness(records: Records, rows: Integers) -> list[Integers]:
    columns = [records[name][rows] for name in ("process", "correlation", "bytes")]
    return [*columns, direction_of(records)[rows]]


def direction_of(records: Records) -> Integers:
    """The direction of each copy or operand, by CUPTI's numbers; UNKNOWN where they do not tell."""
    return looked_up(records["copy_kind"], _DIRECTIONS)


def _copies(known: Records, **columns: Integers) -> Records:
    """Columns of copies, else those of these names that are `known`: timed ones of the program, UNKNOWN in the rest."""
    columns = {**known, **columns}
    size = columns["bytes"].size
    default = {field.name: UNKNOWN for field in fields(Copies) if field.name != "call"} | {"correlation": UNKNOWN}
    default |= {"migration": 0, "estimated": 0}
    return {name: columns.get(name, np.full(size, value, np.int64)) for name, value in default.items()}


def _of_their_calls(records: Records, place: Integers, operands: Records) -> Integers:
    """The records that can be of the call whose correlation they have; its operands are at these places.

    While time stamps are turned on CUPTI may give a copy the correlation of an earlier call of its thread.
    """
    known = np.flatnonzero(place != UNKNOWN)
    place = place[known]
    timing = operands["timing"][place]
    unlike = [operands[name][place] != records[name][known] for name in ("bytes", "copy_kind")]
    wrong = (timing == NOT_TIMED) | ((timing == MAYBE_TIMED) & (unlike[0] | unlike[1]))
    first = np.zeros(place.size, np.bool_)
    first[np.unique(place, return_index=True)[1]] = True
    right = np.ones(records["bytes"].size, np.bool_)
    right[known[wrong | ((timing != 0) & (timing != OF_GRAPH) & ~first)]] = False
    return np.flatnonzero(right)


def called_copies(operands: Records, rows: Integers) -> Records:
    """Copies that no device reported, as their calls have it; their times and kinds of memory are not filled in."""
    untimed = operands["timing"][rows] >= MAYBE_TIMED

    def if_untimed(name: str) -> Integers:
        return np.where(untimed, operands[name][rows], UNKNOWN)

    stream = if_untimed("stream")
    return _copies(
        {name: operands[name][rows] for name in ("bytes", "process", "correlation", "rows")},
        direction=direction_of(operands)[rows],
        device=if_untimed("device"),
        stream=np.where(stream == NO_NUMBER, UNKNOWN, stream),
        source_address=operands["source"][rows],
        destination_address=operands["destination"][rows],
        content=np.where(operands["content"][rows] == 0, UNKNOWN, operands["content"][rows]),
        estimated=np.ones(rows.size, np.int64),
    )


def migrated(records: Records) -> Records:
    """Pages of managed memory that moved, as copies."""
    size = records["start_ns"].size
    managed = np.full(size, memory_index("managed"), np.int64)
    return _copies(
        records,
        direction=looked_up(records["counter"], _MIGRATIONS),
        source=managed,
        destination=managed,
        device=np.where(records["counter"] == _TO_DEVICE, records["destination"], records["source"]),
        migration=np.ones(size, np.int64),
        cause=looked_up(records["cause"], CAUSE_OF),
        source_address=records["address"],
        destination_address=records["address"],
    )


def waits(call_names: Integers, names: Indices) -> tuple[Integers, Integers]:
    """The places of calls that waited for the device, and the names of what they waited for."""
    awaited = {}
    for place, name in enumerate(names.all):
        if what := OPENCL_WAITS.get(name):
            awaited[place] = what
        stem = name.removeprefix("cuda").removeprefix("cu")
        if stem.endswith("Synchronize") and (what := _AWAITED.get(stem.removesuffix("Synchronize"))):
            awaited[place] = what
    places = {place: names.place(what) for place, what in awaited.items()}
    waiting = np.flatnonzero(np.isin(call_names, list(places)))
    return waiting, looked_up(call_names[waiting], places)


def blocking(calls: Records, operands: Records) -> Integers:
    """For each call 1 where it waited for its work, 0 where it did not, UNKNOWN where its name alone tells."""
    place = places_of(calls["process"], calls["correlation"], operands["process"], operands["correlation"])
    flags = np.full(place.size, UNKNOWN, np.int64)
    known = place != UNKNOWN
    flags[known] = looked_up(operands["waited"][place[known]], _WAITED)
    return flags


def given_back(allocations: Records) -> Integers:
    """The bytes of each, of freed memory those it was allocated with."""
    sizes: Integers = allocations["bytes"].copy()
    held: dict[tuple[int, int], int] = {}
    rows = zip(*(allocations[name].tolist() for name in ("process", "address", "bytes", "release")), strict=True)
    for place, (process, address, size, release) in enumerate(rows):
        if release:
            sizes[place] = held.pop((process, address), UNKNOWN)
        else:
            held[process, address] = size
    return sizes
