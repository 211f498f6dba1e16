"""Outputs of other tools by their files: what each says is put together into a run a device."""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from isthmus.errors import RunFileError
from isthmus.files import read_bounded
from isthmus.outputs import amd, bandwidth_test, dcgm, nvbandwidth, nvidia_smi, pci
from isthmus.outputs.reading import Reading, merged, placed, run_of
from isthmus.own_files import mixed_up
from isthmus.record import Run

TOOLS = (
    "nvbandwidth (text, JSON), bandwidthTest, busGrind, dcgmi diag (-j), TransferBench, rocm-bandwidth-test, "
    "nvidia-smi -q, nvidia-smi topo -m, lspci -vv, dmesg"
)
# Copies of one machine that something slowed differ by less.
_SAME = 1.5
# Those that name a device by number and address first: others may have one of the two.
_TEXTS = (nvidia_smi.read, nvbandwidth.read, bandwidth_test.read, dcgm.read, amd.read, pci.read)
# Escapes of a terminal, also where what shows them lost their first character.
_COLOURS = re.compile(r"\x1b?\[(?:\d{1,3}(?:;\d{1,3})*)?m")
# Documents in one file begin at so many braces at most; files of other kinds have thousands.
_MOST_BEGINS = 200
_JSON = (nvbandwidth.read_json, dcgm.read_json)


class Outputs(NamedTuple):
    """A run a device, and what could not be judged, a sentence each."""

    runs: Sequence[Run]
    unread: Sequence[str]


def read_outputs(paths: Sequence[Path]) -> Outputs:
    """Read files, ``-`` for standard input, each with outputs of one or more tools.

    Raises RunFileError for a file that cannot be read or has none of them, and where none names a device.
    """
    readings: list[Reading] = []
    unread: list[str] = []
    listed: set[str] = set()
    for path in dict.fromkeys(paths):
        text = _text(path)
        if mixed := mixed_up(path, text.encode(), "output of another tool", "output"):
            raise RunFileError(mixed)
        documents, rest = _documents(text)
        read = [each for document in documents for reader in _JSON for each in reader(document)]
        printed = [*read, *(each for reader in _TEXTS for each in reader(rest))]
        if not printed:
            raise RunFileError(f"{path}: has none of the outputs that are read: {TOOLS}; it begins: {_begin(text)}")
        listed |= pci.addresses(text)
        readings += placed([each for each in printed if isinstance(each, Reading)])
        unread += [f"{path}: {each}" for each in printed if isinstance(each, str)]
    # Names by drivers come before those of lspci, and what has both number and address before the rest.
    order = sorted(placed(readings), key=lambda each: (_is_lspci(each), not each.address))
    devices = merged(order)
    unknown = [
        each
        for each in devices
        if not (each.figures or each.link or each.name or each.vendor or each.index is not None)
    ]
    unread += [
        f"errors were logged for {each.address}; whether that is a GPU says lspci: give `sudo lspci -vv`, too"
        for each in unknown
        if each.address not in listed
    ]
    unread += [
        f"the higher figures of the same copy of {each.name or 'one device'}, up to {ratio:.2g} times the lowest: "
        "are they of one machine?"
        for each in devices
        if (ratio := each.largest_difference) > _SAME
    ]
    known = [each for each in devices if each not in unknown]
    name = " ".join(map(str, paths))
    runs = [run_of(each, name) for each in known]
    if not runs:
        raise RunFileError("; ".join(unread))
    return Outputs(runs, unread)


def _is_lspci(reading: Reading) -> bool:
    return reading.link is not None and reading.link.source.startswith("lspci")


def _text(path: Path) -> str:
    """The text, also as PowerShell and Windows write it."""
    data = sys.stdin.buffer.read() if str(path) == "-" else read_bounded(path)
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = data.decode(encoding, "replace").replace("\r\n", "\n").replace("\u00a0", " ")
    return _COLOURS.sub("", text)


def _documents(text: str) -> tuple[list[dict[str, Any]], str]:
    """The JSON documents in a text, and what else it has."""
    documents: list[dict[str, Any]] = []
    rest = ""
    at, decoder = 0, json.JSONDecoder()
    for begin in list(re.finditer(r"\{", text))[:_MOST_BEGINS]:
        if begin.start() < at:
            continue
        try:
            document, end = decoder.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            continue
        documents.append(document)
        rest += text[at : begin.start()]
        at = end
    return documents, rest + text[at:]


def _begin(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "(nothing)")
    return repr(line[:60])
