"""nvbandwidth: the text of all its versions, and its JSON."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from isthmus.outputs.reading import Figure, Method, Reading, address_of, number, numbered_rows
from isthmus.record import Direction

# One direction under traffic in the other is what its bidirectional tests print of host and device.
_TESTS: Mapping[str, tuple[Direction, Method]] = {
    "host_to_device_memcpy": ("h2d", "copy"),
    "device_to_host_memcpy": ("d2h", "copy"),
    "host_to_device_bidirectional_memcpy": ("h2d", "duplex"),
    "device_to_host_bidirectional_memcpy": ("d2h", "duplex"),
}
_SECTION = re.compile(
    r"^[ \t>]*Running (?:benchmark )?(\w+?)\.?[ \t]*\n(.*?)(?=^[ \t>]*(?:Running |Waived|SUM )|\Z)",
    re.MULTILINE | re.DOTALL,
)
# Each run of it begins anew, as do those of several hosts that one file has.
_BEGIN = re.compile(r"(?=^[ \t>]*nvbandwidth Version)", re.MULTILINE)
_HOST = re.compile(r"^[ \t>]*([\w.-]+)[ \t]*\n\s*(?=Device \d{1,4}: )", re.MULTILINE)
_DEVICE = re.compile(r"^[ \t]*Device (\d{1,4}): (.+?)(?: \(([0-9A-Fa-f:.]+)\))?[ \t]*$", re.MULTILINE)


def read(text: str) -> Iterator[Reading | str]:
    """A reading a device, or a sentence on what cannot be read."""
    for part in _BEGIN.split(text):
        if re.search(r"nvbandwidth Version|memcpy (?:CE|SM) [CG]PU", part):
            yield from _read_one(part)


def _read_one(text: str) -> Iterator[Reading | str]:
    host = match[1] if (match := _HOST.search(text)) else ""
    driver = match[1] if (match := re.search(r"^[ \t]*Driver Version: (\S+)", text, re.MULTILINE)) else ""
    names = {int(index): (name, address) for index, name, address in _DEVICE.findall(text)}
    rates = [(test, _columns(rows)) for test, rows in _SECTION.findall(text) if test.rpartition("_")[0] in _TESTS]
    yield from _readings(names, rates, driver, host, "nvbandwidth's text")


def read_json(document: Any) -> Iterator[Reading | str]:
    """The same of ``nvbandwidth --json``."""
    body = document.get("nvbandwidth") if isinstance(document, dict) else None
    if not isinstance(body, dict):
        return
    devices = [str(each) for each in body.get("GPU Device list", body.get("device list", [])) or []]
    names, hosts = {}, {str(body.get("Hostname", ""))}
    for at, text in enumerate(devices):
        match = re.fullmatch(r"(?:(\d{1,4}): )?(.+?)(?: ?\((?:PCI:)?([0-9A-Fa-f:.]+)\))?(?:: \(?([\w:.-]+)\)?)?", text)
        if match:
            names[int(match[1] or at)] = (match[2], match[3] or "")
            hosts.add(match[4] or "")
    rates = []
    for case in body.get("testcases", []):
        if isinstance(case, dict) and str(case.get("name", "")).rpartition("_")[0] in _TESTS:
            rows = [[number(str(cell)) for cell in row] for row in case.get("bandwidth_matrix") or []]
            rates.append((case["name"], _best(rows)))
    named = [each for each in hosts if re.fullmatch(r"[\w.-]+", each)]
    host = named[0] if len(named) == 1 else ""
    yield from _readings(names, rates, str(body.get("Driver Version", "")), host, "nvbandwidth's JSON")


def _columns(rows: str) -> dict[int, float]:
    return _best([figures for _, figures in numbered_rows(rows)])


def _best(rows: list[list[float | None]]) -> dict[int, float]:
    """By column, which is a device, the best of all rows: of the host's nodes."""
    best: dict[int, float] = {}
    for row in rows:
        for column, value in enumerate(row):
            if value is not None:
                best[column] = max(value, best.get(column, 0.0))
    return best


def _readings(
    names: Mapping[int, tuple[str, str]], tests: list[tuple[str, dict[int, float]]], driver: str, host: str, what: str
) -> Iterator[Reading | str]:
    readings: dict[int, Reading] = {}
    for index in sorted(names.keys() | {index for _, rates in tests for index in rates}):
        name, address = names.get(index, ("", ""))
        readings[index] = Reading(
            vendor="NVIDIA", index=index, host=host, name=name, address=address_of(address), driver=driver, figures=[]
        )
    for test, rates in tests:
        direction, method = _TESTS[test.rpartition("_")[0]]
        by: Method = method if test.endswith("_ce") else "kernel"
        if method != "duplex" or by == "duplex":
            for index, rate in rates.items():
                readings[index].figures.append(Figure(direction, rate * 1e9, by))
    if not any(reading.figures for reading in readings.values()):
        yield f"{what} has no rate between host and device: it ended before, or other tests were run"
    yield from readings.values()
