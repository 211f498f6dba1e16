"""bandwidthTest of the CUDA samples and the SDK before them, its lines of CSV, and the matrix of busGrind."""

import re
from collections.abc import Iterator
from typing import Literal

from isthmus.outputs.reading import Figure, Reading, number
from isthmus.record import Direction

_DEVICE = re.compile(r"^[ \t]*device (\d{1,4}):[ \t]*(.+?)[ \t]*$", re.MULTILINE | re.IGNORECASE)
_TABLE = re.compile(
    r"(Host to Device|Device to Host) Bandwidth(?:, (\d{1,4}) Device\(s\))?(?: for (\w+) memory)?(.*?)"
    r"(?=Device to Device|Host to Device|Device to Host|Result =|Test PASSED|&&&&|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_ROW = re.compile(r"^[ \t]*(\d{4,15})[ \t]+(\d+(?:[.,]\d+)?)[ \t]*$", re.MULTILINE)
_LINE = re.compile(
    r"bandwidthTest-(H2D|D2H)-(\w+), Bandwidth = ([\d.,]+) (\S+?), .*?Size = (\d{1,15}) bytes, NumDevsUsed = (\d{1,4})"
)
_MATRIX = re.compile(
    r"^Host/Device Bandwidth Matrix \(GB/s\), memory=(\w+)[ \t]*\n(.*?)(?=^\*|\Z)", re.MULTILINE | re.DOTALL
)
_MATRIX_ROW = re.compile(r"^[ \t]*(D2H|H2D|BiDir)((?:[ \t]+\d+[.,]\d+)+)[ \t]*$", re.MULTILINE)
_DIRECTIONS: dict[str, Direction] = {
    "host to device": "h2d",
    "device to host": "d2h",
    "h2d": "h2d",
    "d2h": "d2h",
    "bidir": "both",
}
# The samples' MB were kibibytes a millisecond, those of the SDK before them mebibytes a second.
_UNITS = {"GB/s": 1e9, "GiB/s": 1 << 30, "MiB/s": 1 << 20}


def read(text: str) -> Iterator[Reading | str]:
    """A reading a device, or a sentence on what cannot be read."""
    yield from _bus_grind(text)
    if not re.search(r"\bbandwidth ?test|Transfer Size \(Bytes\)", text, re.IGNORECASE):
        return
    units = {**_UNITS, "MB/s": 1.024e6 if "[CUDA Bandwidth Test]" in text or "bandwidthTest-" in text else 1 << 20}
    names = {int(index): name for index, name in _DEVICE.findall(text)}
    figures: dict[int, list[Figure]] = {index: [] for index in names}
    for table in _TABLE.finditer(text):
        before = _DEVICE.findall(text[: table.start()])
        unit = match[1] if (match := re.search(r"Bandwidth ?\(([^)]*)\)", table[4])) else "MB/s"
        kind = table[3] or (match[1] if (match := re.search(r"(PINNED|PAGEABLE|Paged)", table[4])) else "pinned")
        if int(table[2] or 1) > 1:
            yield f"bandwidthTest's figures are sums over {table[2]} devices; run it with --device=0, 1, ... for each"
        elif unit not in units:
            yield f"bandwidthTest's unit {unit!r} is not one that it prints (MB/s or GB/s)"
        else:
            rows = [(int(size), value) for size, text_ in _ROW.findall(table[4]) if (value := number(text_))]
            for size, value in rows[-1:] if len(rows) < 2 else [row for row in rows if row[0] >= rows[-1][0] // 2]:
                figure = Figure(_DIRECTIONS[table[1].lower()], value * units[unit], "copy", _memory(kind), size)
                figures.setdefault(int(before[-1][0]) if before else 0, []).append(figure)
    for direction, kind, value, unit, size, devices in _LINE.findall(text):
        if int(devices) == 1 and unit in units and (rate := number(value)):
            figure = Figure(_DIRECTIONS[direction.lower()], rate * units[unit], "copy", _memory(kind), int(size))
            figures.setdefault(min(names, default=0), []).append(figure)
    if not any(figures.values()):
        yield "bandwidthTest's output has no rate between host and device: it ended before"
    for index, of_device in figures.items():
        yield Reading(vendor="NVIDIA", index=index, name=names.get(index, ""), figures=of_device)


def _bus_grind(text: str) -> Iterator[Reading]:
    """The matrix of one device at a time, a row a direction and a column a device; both directions are a sum."""
    figures: dict[int, list[Figure]] = {}
    for kind, matrix in _MATRIX.findall(text):
        for direction, cells in _MATRIX_ROW.findall(matrix):
            for index, rate in enumerate(map(number, cells.split())):
                if rate:
                    figure = Figure(_DIRECTIONS[direction.lower()], rate * 1e9, "copy", _memory(kind))
                    figures.setdefault(index, []).append(figure)
    yield from (Reading(vendor="NVIDIA", index=index, figures=each) for index, each in figures.items())


def _memory(word: str) -> Literal["pinned", "pageable"]:
    return "pinned" if word.lower() == "pinned" else "pageable"
