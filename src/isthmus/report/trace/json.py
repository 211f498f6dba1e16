"""A trace as one JSON document for scripts: totals, nvprof's tables and every copy; written as it goes."""

from dataclasses import asdict
from typing import Any, TextIO

import msgspec

from isthmus.language import speaking
from isthmus.report.trace.records import COPY_COLUMNS, copy_records
from isthmus.report.trace.rows import TraceRow, activity_rows, call_rows
from isthmus.report.trace.totals import moved, shares
from isthmus.trace import DIRECTIONS, UNKNOWN, Trace


def write(trace: Trace, out: TextIO) -> None:
    """Write the document to `out`, a line for each copy; names are English whatever language is spoken."""
    with speaking("en"):
        begin = msgspec.json.format(msgspec.json.encode(_summary(trace)), indent=2).decode()
    out.write(begin.removesuffix("\n}") + ',\n  "copies": [')
    for place, record in enumerate(copy_records(trace)):
        fields = {name: value for name, value in zip(COPY_COLUMNS, record, strict=True) if value is not None}
        out.write(f"{',' if place else ''}\n    {msgspec.json.encode(fields).decode()}")
    out.write("\n  ]\n}\n")


def _summary(trace: Trace) -> dict[str, Any]:
    begin, end = trace.span_ns
    return {
        "format": "isthmus.transfers",
        "schema_version": 1,
        "name": trace.path.name,
        "maker": trace.maker,
        "maker_version": trace.version,
        "first_ns": begin,
        "span_ns": end - begin,
        "knows": sorted(trace.knows),
        "notes": trace.notes,
        "processes": [asdict(process) for process in trace.processes],
        "devices": {str(number): name for number, name in trace.devices.items()},
        "moved": [
            asdict(each) | {"direction": None if each.direction == UNKNOWN else DIRECTIONS[each.direction]}
            for each in moved(trace)
        ],
        "shares": [asdict(share) for share in shares(trace)],
        "activities": [_row(row) for row in activity_rows(trace)],
        "calls": [_row(row) for row in call_rows(trace)],
    }


def _row(row: TraceRow) -> dict[str, Any]:
    return {name: value for name, value in asdict(row).items() if value is not None}
