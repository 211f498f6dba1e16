"""Advice as JSON for scripts: keys and rules never change with the language, sentences do."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TextIO

import msgspec

from isthmus.advice import Advice
from isthmus.record import Interval
from isthmus.trace import Trace


def write(advice: Advice, traces: Sequence[Trace], out: TextIO) -> None:
    """Write findings with their prices, what could not be judged, and which traces they are of to `out`."""
    content = {
        "format": "isthmus.advice",
        "schema_version": 1,
        "traces": [
            {"name": trace.path.name, "maker": trace.maker, "processes": [asdict(each) for each in trace.processes]}
            for trace in traces
        ],
        "priced_by": advice.priced_by,
        "priced_elsewhere": advice.priced_elsewhere,
        "span_seconds": advice.span_seconds,
        "gain_seconds": _interval(advice.gain_seconds),
        "findings": [
            asdict(finding) | {"gain_seconds": _interval(finding.gain_seconds)} for finding in advice.findings
        ],
        "abstentions": [asdict(abstention) for abstention in advice.abstentions],
        "notes": [f"{trace.path.name}: {note}" for trace in traces for note in trace.notes],
    }
    out.write(msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n")


def _interval(seconds: Interval | None) -> dict[str, Any] | None:
    return None if seconds is None else {"median": seconds.median, "low": seconds.low, "high": seconds.high}
