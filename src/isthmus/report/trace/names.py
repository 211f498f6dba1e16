"""What a report of a trace calls copies, memory and kernels."""

import re

from isthmus.language import say
from isthmus.trace import CAUSES, DIRECTIONS, MEMORY_KINDS, UNKNOWN

_LONGEST = 80
_ON_DEVICE = (MEMORY_KINDS.index("device"), UNKNOWN)
_UNNAMED = re.compile(r"(?:\(anonymous namespace\)|<unnamed>|\{anonymous\})::")


def way_name(direction: int) -> str:
    """``H2D`` of one of `DIRECTIONS`."""
    return say("trace_report.way_unknown" if direction == UNKNOWN else f"trace_report.way_{DIRECTIONS[direction]}")


def copy_name(direction: int, source: int, destination: int, *, migration: bool, cause: int = UNKNOWN) -> str:
    """``copy H2D pinned``, with both kinds of memory where one of them is not simply the device's own."""
    way = way_name(direction)
    if migration:
        if cause == UNKNOWN:
            return say("trace_report.migration", way=way)
        because = say(f"trace_report.cause_{CAUSES[cause].replace(' ', '_')}")
        return say("trace_report.migration_because", way=way, cause=because)
    name = "" if direction == UNKNOWN else DIRECTIONS[direction]
    # What a direction implies of the device's side is not said.
    if name == "h2d" and destination in _ON_DEVICE:
        return say("trace_report.copy_memory", way=way, memory=_memory(source))
    if name == "d2h" and source in _ON_DEVICE:
        return say("trace_report.copy_memory", way=way, memory=_memory(destination))
    if source in _ON_DEVICE and destination in _ON_DEVICE:
        return say("trace_report.copy", way=way)
    return say("trace_report.copy_between", way=way, source=_memory(source), destination=_memory(destination))


def kernel_name(full: str) -> str:
    """A kernel's name without its result, its template arguments and its parameters."""
    kept: list[str] = []
    depth, previous = 0, ""
    text = _UNNAMED.sub("", full)
    for letter in text:
        if letter == "<":
            depth += 1
        elif letter == ">" and previous != "-":
            depth = max(depth - 1, 0)
        elif depth == 0:
            if letter == "(":
                break
            kept.append(letter)
        previous = letter
    name = "".join(kept).strip().rpartition(" ")[2] or text
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _memory(kind: int) -> str:
    return say("trace_report.memory_unknown") if kind == UNKNOWN else say(f"memory.label_{MEMORY_KINDS[kind]}")
