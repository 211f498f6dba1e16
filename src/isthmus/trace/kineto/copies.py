"""Reads from the name of a copy which way it went and between what memory, for all vendors' names."""

import re
from typing import NamedTuple

from isthmus.trace.columns import UNKNOWN, direction_index, memory_index

# ``Memcpy HtoD (Pinned -> Device)`` of CUDA, ``Memcpy M2D (MEMORY(Unknown) -> DEVICE)`` of XPUs; XLA's are
# ``MemcpyH2D``, and those of older versions for ROCm ``CopyHostToDevice``.
_NAME = re.compile(r"Mem(?:cpy|Cpy) ?(\w+)(?: \((.+?) -> (.+)\))?")
_SPELT_OUT = re.compile(r"Copy(Host|Device)To(Host|Device)")
# With its size, as unitrace names it: ``zeCommandListAppendMemoryCopy(M2D)[4096 bytes]``.
_LEVEL_ZERO = re.compile(r"(?:Tile #\d+: )?zeCommandListAppendMemoryCopy\w*\((\w)2(\w)\)(?:\[(\d{1,15}) bytes\])?.*")
_ARROW = re.compile(r"([A-Z])(?:to|To|2)([A-Z])")
# What each letter means. M is memory of which the driver knows nothing: the host's own. S is shared: managed.
_SIDES = {"H": "host", "M": "host", "D": "device", "A": "device", "S": "device", "P": "peer"}
_DIRECTIONS = {
    ("host", "device"): direction_index("h2d"),
    ("device", "host"): direction_index("d2h"),
    ("device", "device"): direction_index("d2d"),
    ("peer", "peer"): direction_index("peer"),
    ("host", "host"): direction_index("h2h"),
}
_MEMORY = {
    "pageable": memory_index("pageable"),
    "pinned": memory_index("pinned"),
    **dict.fromkeys(("device", "device static", "array"), memory_index("device")),
    **dict.fromkeys(("managed", "managed static", "shared"), memory_index("managed")),
}
# H is memory that Level Zero allocated on the host.
_OF_LEVEL_ZERO = {"H": memory_index("pinned"), "D": memory_index("device"), "S": memory_index("managed")}
# As calls of HIP and CUDA number them: cudaMemcpyKind.
_KINDS = {"0": "h2h", "1": "h2d", "2": "d2h", "3": "d2d"}


class Ends(NamedTuple):
    """Places in `DIRECTIONS` and `MEMORY_KINDS`; UNKNOWN where nothing tells."""

    direction: int = UNKNOWN
    source: int = UNKNOWN
    destination: int = UNKNOWN


def ends_of(name: str) -> Ends:
    """What the name of a copy says."""
    if spelt := _SPELT_OUT.fullmatch(name):
        sides = (spelt[1].lower(), spelt[2].lower())
        return Ends(_DIRECTIONS.get(sides, UNKNOWN))
    match = _NAME.fullmatch(name)
    if match is None:
        return Ends()
    arrow, *memory = match.groups("")
    if (letters := _ARROW.fullmatch(arrow)) is None:
        return Ends()
    begin, end = (_SIDES.get(letter, "") for letter in letters.groups())
    kinds = (_MEMORY.get(kind.lower(), UNKNOWN) for kind in memory)
    return Ends(_DIRECTIONS.get((begin, end), UNKNOWN), *kinds)


def level_zero(name: str) -> tuple[Ends, int] | None:
    """What the name of a copy of Level Zero says, and its size; None where that is no copy."""
    match = _LEVEL_ZERO.fullmatch(name)
    if match is None:
        return None
    direction = _DIRECTIONS.get((_SIDES.get(match[1], ""), _SIDES.get(match[2], "")), UNKNOWN)
    ends = Ends(direction, *(_OF_LEVEL_ZERO.get(letter, UNKNOWN) for letter in (match[1], match[2])))
    return ends, int(match[3]) if match[3] else UNKNOWN


def direction_of_kind(kind: str) -> int:
    """The direction that an argument ``kind`` of a call or a copy tells, as a number or as letters."""
    if kind in _KINDS:
        return direction_index(_KINDS[kind])
    letters = _ARROW.fullmatch(kind)
    sides = tuple(_SIDES.get(letter, "") for letter in letters.groups()) if letters else ("", "")
    return _DIRECTIONS.get((sides[0], sides[1]), UNKNOWN)
