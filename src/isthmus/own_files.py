"""Files that Isthmus writes: what each is by how it begins, and the command that reads it."""

import re
from pathlib import Path
from typing import NamedTuple


class OwnFile(NamedTuple):
    """What one of our files is, and what to do with it."""

    kind: str
    what: str
    cure: str


_OF_A_RUN = "no command reads it; give the run it was made of"
_OF_A_TRACE = "no command reads it; give the trace it was made of"
_BY_ITSELF = "no command reads it"
_KINDS = {
    each.kind: each
    for each in (
        OwnFile("run", "a run of measurements", "see it with: isthmus report {path}"),
        OwnFile("fleet", "a fleet file, with summaries of many devices", "see it with: isthmus fleet {path}"),
        OwnFile("trace", "a trace", "see it with: isthmus advise {path}"),
        OwnFile("reference", "a reference to judge runs by", "judge one: isthmus compare reference:{path} RUN"),
        OwnFile("report", "a report on runs for scripts, by isthmus report --json", _OF_A_RUN),
        OwnFile("rows", "a table of a run's cases, by isthmus report --format csv", _OF_A_RUN),
        OwnFile("plan", "the answer of isthmus plan --json", _OF_A_RUN),
        OwnFile("comparison", "the answer of isthmus compare --json", "no command reads it; give the two runs"),
        OwnFile("checkup", "the answer of isthmus compare --json", "no command reads it; give the run"),
        OwnFile("survey", "the answer of isthmus fleet --json", "no command reads it; give the fleet file"),
        OwnFile("members", "a table of isthmus fleet", "no command reads it; give the fleet file"),
        OwnFile("check", "the answer of isthmus check --json", _BY_ITSELF),
        OwnFile("outputs", "the answer of isthmus check --from --json", _BY_ITSELF),
        OwnFile("devices", "the answer of isthmus devices --json", _BY_ITSELF),
        OwnFile("calibration", "the answer of isthmus calibrate --json", _BY_ITSELF),
        OwnFile("acceleration", "the report of isthmus accelerate as JSON", _BY_ITSELF),
        OwnFile("races", "the report of isthmus races as JSON", _BY_ITSELF),
        OwnFile("advice", "the answer of isthmus advise --json", _OF_A_TRACE),
        OwnFile("events", "the picture of a trace for Perfetto or chrome://tracing", _OF_A_TRACE),
        OwnFile("transfers", "the table of a trace", _OF_A_TRACE),
        OwnFile("table", "a table of how isthmus.copy moves data", "see the one in use: isthmus calibrate --show"),
        OwnFile("benchmark", "figures of a program in benchmarks/", "no command reads them; text next to it has them"),
        OwnFile("output", "an output of nvbandwidth or bandwidthTest", "judge it with: isthmus check --from {path}"),
        OwnFile("page", "a page of a report", "open it in a browser"),
    )
}
# Every JSON document of ours says what it is in its first value, each of a list of them likewise.
_FORMAT = re.compile(rb'\s*(?:\[\s*)?\{\s*"format":\s*"isthmus\.(\w+)"')
_BEGINNINGS = {
    "trace": re.compile(rb"ISTHTRC1"),
    "benchmark": re.compile(
        rb'\s*\{\s*(?:"command": "benchmarks/|"hosts": \d+,\s*"devices": \d+,|"runs?": .{,4096}?"figures": )', re.DOTALL
    ),
    "table": re.compile(rb"isthmus transfer table "),
    "page": re.compile(rb"\s*<!doctype html>.{,4096}?<title>Isthmus: ", re.DOTALL),
    "rows": re.compile(rb"run,backend,device,experiment,method,"),
    "members": re.compile(rb"host,device,device_name,pci_address,"),
    "transfers": re.compile(rb"start_ns,duration_ns,direction,source,"),
}
# Of others: nsys exports SQLite, and the torch profiler's JSON has its list among the first keys.
_OTHERS_TRACE = re.compile(rb'SQLite format 3\0|\s*[\[{].*"traceEvents"', re.DOTALL)
# What nvbandwidth and bandwidthTest print, also behind the line of a shell.
_OTHERS_OUTPUT = re.compile(
    rb'\A\s*\{\s*"nvbandwidth":|^nvbandwidth Version\b|^\[CUDA Bandwidth Test\]|^bandwidthTest-[HD]2|'
    rb"^[ \t]*Transfer Size \(Bytes\)",
    re.MULTILINE,
)
# So many bytes of a file tell what it is.
BEGIN_BYTES = 1 << 16


def own_file(begin: bytes) -> OwnFile | None:
    """Which of our files begins with these bytes, unpacked where it is gzip; None where none does."""
    if named := _FORMAT.match(begin):
        kind = named[1].decode()
        return _KINDS.get(kind, OwnFile(kind, f"a file of isthmus ({kind})", "this version does not read it"))
    return next((_KINDS[kind] for kind, beginning in _BEGINNINGS.items() if beginning.match(begin)), None)


def mixed_up(path: Path, content: bytes, wanted: str, *kinds: str) -> str:
    """What the file is, and what to do, where it is a file of ours, a trace, or an output, but none of these kinds.

    ``a.json: a trace, and no run of measurements; see it with: isthmus advise a.json``; `content` is its begin at
    least, unpacked. Empty for what is wanted, and for any other file.
    """
    begin = content[:BEGIN_BYTES]
    others = "trace" if _OTHERS_TRACE.match(begin) else "output" if _OTHERS_OUTPUT.search(begin) else ""
    known = own_file(begin) or _KINDS.get(others)
    if known is None or known.kind in kinds:
        return ""
    return f"{path}: {known.what}, and no {wanted}; {known.cure.format(path=path)}"
