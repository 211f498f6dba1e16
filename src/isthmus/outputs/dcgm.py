"""DCGM: the PCIe test of `dcgmi diag`, versions 2 to 4, in JSON and in the table that wraps words anywhere."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from isthmus.outputs.reading import Figure, Reading, number
from isthmus.record import Direction

_RATE = re.compile(r"(?:GPU ?(\d{1,4}) ?)?(GPU to Host|Host to GPU|bidirectional) bandwidth:\s*(\d+(?:[.,]\d+)?)")
# A number of a device.
_LONGEST = 5
_CELL = re.compile(r"^\|[^|\n]*\| ?([^|\n]*?) *\|[ \t]*$", re.MULTILINE)
_DIRECTIONS: dict[str, Direction] = {"GPU to Host": "d2h", "Host to GPU": "h2d", "bidirectional": "both"}


def read(text: str) -> Iterator[Reading | str]:
    """The same of the table that `dcgmi diag` prints."""
    if "DCGM" in text and (cells := "".join(_CELL.findall(text))):
        yield from _readings({"0": cells})


def _readings(texts: Mapping[str, str]) -> Iterator[Reading]:
    """A reading a device; the texts are by the device that they are of, unless they say it themselves."""
    figures: dict[int, list[Figure]] = {}
    for own, text in texts.items():
        for index, direction, value in _RATE.findall(text):
            rate = number(value)
            if rate and (index or own).isdecimal() and len(index or own) < _LONGEST:
                figures.setdefault(int(index or own), []).append(Figure(_DIRECTIONS[direction], rate * 1e9))
    yield from (Reading(vendor="NVIDIA", index=index, figures=each) for index, each in sorted(figures.items()))


def read_json(document: Any) -> Iterator[Reading | str]:
    """A reading a device, or a sentence on what cannot be read."""
    tests = [test for test in _tests(document) if str(test.get("name", "")).lower() == "pcie"]
    texts: dict[str, str] = {}
    for result in (result for test in tests for result in test.get("results", []) if isinstance(result, dict)):
        info = result.get("info", "")
        own = str(result.get("entity_id", result.get("gpu_id", result.get("gpu_ids", ""))))
        texts[own] = texts.get(own, "") + ", ".join(map(str, info) if isinstance(info, list) else [str(info)])
    readings = list(_readings(texts))
    if tests and not readings:
        yield "DCGM's PCIe test has no bandwidths in `info`: run `dcgmi diag -r pcie -j -v`"
    elif not tests and "dcgm" in str(document)[:2000].lower():
        yield "DCGM's diagnosis has no PCIe test: run `dcgmi diag -r pcie -j -v`"
    yield from readings


def _tests(node: Any) -> Iterator[dict[str, Any]]:
    """All that has a name and results, however deep: versions nest them differently."""
    if isinstance(node, dict):
        if "name" in node and isinstance(node.get("results"), list):
            yield node
        for value in node.values():
            yield from _tests(value)
    elif isinstance(node, list):
        for value in node:
            yield from _tests(value)
