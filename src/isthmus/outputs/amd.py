"""AMD's tools: rocm-bandwidth-test, and TransferBench's p2p table and transfers."""

import re
from collections.abc import Iterator

from isthmus.outputs.reading import Figure, Method, Reading, address_of, number, numbered_rows
from isthmus.record import Direction

_DEVICE = re.compile(
    r"^[ \t]*Device: (\d+),[ \t]+(.+?)(?:,[ \t]+GPU-\S+?)?(?:,[ \t]+([0-9a-f]{1,2}:[0-9a-f]{1,2}\.\d))?[ \t]*$",
    re.MULTILINE,
)
_PEAK = re.compile(
    r"(Uni|Bi?)directional copy peak bandwidth GB/s(.*?)(?=(?:Uni|Bi?)directional copy peak|\Z)", re.DOTALL
)
_ROW = re.compile(r"^[ \t]*(CPU|GPU) (\d{1,4})[ \t]*(->|<->)((?:[ \t]+(?:N/A|[\d.]+))+)[ \t]*$", re.MULTILINE)
# Source, executor and destination: C is the host's memory, G a device's; the executor copies by kernels or by DMA.
_TRANSFER = re.compile(
    r"^\s*Transfer\s+\d+\s*\|\s*([\d.]+) GB/s\s*\|.*?(\d{1,15}) bytes\s*\|\s*\(?([A-Z])(\d{1,4})\s*->"
    r"\s*([A-Z]+)\d+(?:[:.]\d+)?\s*->\s*([A-Z])(\d{1,4})\b",
    re.MULTILINE,
)
_HOST = "CBUNMH"


def read(text: str) -> Iterator[Reading | str]:
    """A reading a device, or a sentence on what cannot be read."""
    if re.search(r"Rocm ?BandwidthTest|rocm_bandwidth|^[ \t]*D/D[ \t]", text, re.MULTILINE | re.IGNORECASE):
        yield from _rocm(text)
    if "GPU-Executor" in text or _TRANSFER.search(text):
        yield from _transfer_bench(text)


def _rocm(text: str) -> Iterator[Reading | str]:
    devices = _DEVICE.findall(text)
    gpus = [each for each, _, address in devices if address]
    if not gpus:
        yield "rocm-bandwidth-test's output has no list of devices, which says what the columns are; give all of it"
        return
    figures: dict[str, list[Figure]] = {each: [] for each in gpus}
    for which, table in _PEAK.findall(text):
        columns = [each for each, *_ in devices]
        best: dict[tuple[str, Direction], float] = {}
        for row, cells in numbered_rows(table):
            for column, value in zip(columns, cells, strict=False):
                if value and (row in gpus) != (column in gpus):
                    direction: Direction = "both" if which != "Uni" else "d2h" if row in gpus else "h2d"
                    key = (row if row in gpus else column, direction)
                    best[key] = max(value, best.get(key, 0.0))
        for (gpu, direction), value in best.items():
            figures[gpu].append(Figure(direction, value * 1e9))
    if not any(figures.values()):
        yield "rocm-bandwidth-test's output has no rate between host and device: it ended before"
    for index, (gpu, name, address) in enumerate(each for each in devices if each[2]):
        yield Reading(vendor="AMD", index=index, name=name, address=address_of(address), figures=figures[gpu])


def _transfer_bench(text: str) -> Iterator[Reading | str]:
    figures: dict[int, list[Figure]] = {}
    for which, table in _PEAK.findall(text):
        best: dict[tuple[int, Direction], float] = {}
        by: Method = "kernel" if "GFX" in table.partition("\n")[0] else "copy"
        hosts = len(set(re.findall(r"CPU \d+", table.partition("\n")[2].partition("\n")[0])))
        for side, at, arrow, cells in _ROW.findall(table):
            if (which == "Uni") != (arrow == "->"):
                continue
            values = [number(cell) for cell in cells.split()]
            there = values[hosts:] if side == "CPU" else values[:hosts]
            for other, value in enumerate(there):
                index = other if side == "CPU" else int(at)
                direction: Direction = "both" if which != "Uni" else "h2d" if side == "CPU" else "d2h"
                if value:
                    best[index, direction] = max(value, best.get((index, direction), 0.0))
        for (index, direction), value in best.items():
            figures.setdefault(index, []).append(Figure(direction, value * 1e9, by))
    for value_, size, source, at, executor, target, to in _TRANSFER.findall(text):
        if (source in _HOST) != (target in _HOST) and (rate := number(value_)):
            index, direction = (int(to) if source in _HOST else int(at)), "h2d" if source in _HOST else "d2h"
            method: Method = "copy" if executor.startswith("D") else "kernel"
            figures.setdefault(index, []).append(Figure(direction, rate * 1e9, method, bytes=int(size)))
    if not figures:
        yield "TransferBench's output has no rate between host and device: run `TransferBench p2p`"
    yield from (Reading(vendor="AMD", index=index, figures=each) for index, each in sorted(figures.items()))
