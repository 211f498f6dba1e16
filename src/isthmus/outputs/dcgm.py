"""DCGM: the PCIe test in the JSON of `dcgmi diag`, versions 2 to 4."""

import re
from collections.abc import Iterator
from typing import Any

from isthmus.outputs.reading import Figure, Reading, number
from isthmus.record import Direction

_RATE = re.compile(r"(?:GPU (\d+) )?(GPU to Host|Host to GPU|bidirectional) bandwidth:\s*([\d.,]+) ?(GB/s)?")
_DIRECTIONS: dict[str, Direction] = {"GPU to Host": "d2h", "Host to GPU": "h2d", "bidirectional": "both"}


def read_json(document: Any) -> Iterator[Reading | str]:
    """A reading a device, or a sentence on what cannot be read."""
    tests = [test for test in _tests(document) if str(test.get("name", "")).lower() == "pcie"]
    figures: dict[int, list[Figure]] = {}
    for result in (result for test in tests for result in test.get("results", []) if isinstance(result, dict)):
        info = result.get("info", "")
        text = ", ".join(map(str, info)) if isinstance(info, list) else str(info)
        own = str(result.get("entity_id", result.get("gpu_id", result.get("gpu_ids", ""))))
        for index, direction, value, _ in _RATE.findall(text):
            rate = number(value)
            if rate and (index or own).isdigit():
                figures.setdefault(int(index or own), []).append(Figure(_DIRECTIONS[direction], rate * 1e9))
    if tests and not figures:
        yield "DCGM's PCIe test has no bandwidths in `info`: run `dcgmi diag -r pcie -j -v`"
    elif not tests and "dcgm" in str(document)[:2000].lower():
        yield "DCGM's diagnosis has no PCIe test: run `dcgmi diag -r pcie -j -v`"
    yield from (Reading(vendor="NVIDIA", index=index, figures=each) for index, each in sorted(figures.items()))


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
