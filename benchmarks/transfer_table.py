"""Findings of benchmarks/transfer.py as a table of Markdown, and with all samples as JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import msgspec
from transfer_bench import Finding, shown

from isthmus.record import Fingerprint

_HEADER = ("case", "bar", "measured", "best of the others", "verdict")


def verdict(finding: Finding) -> str:
    """Met, missed, or why neither."""
    if finding.met is None:
        return f"no verdict: {finding.why_not}"
    return "met" if finding.met else "missed" + (f": {finding.why_not}" if finding.why_not else "")


def line(finding: Finding) -> str:
    """One finding for the terminal."""
    peer = f"; best of the others {finding.best_peer}" if finding.best_peer else ""
    return f"{finding.case}: {finding.measured or 'not measured'} (bar {finding.bar}{peer}) - {verdict(finding)}"


def markdown(findings: Sequence[Finding], fingerprint: Fingerprint, command: str) -> str:
    """The table, and below it every contender of every case."""
    device, host = fingerprint.device, fingerprint.host
    lines = [
        f"# Copies on {device.name}",
        "",
        f"`{command}`, Isthmus {fingerprint.isthmus_version}, driver {device.driver_version or 'unknown'}, "
        f"{host.cpu.model}. One process; what one case compares took turns. GB = 1e9 bytes; medians.",
        "",
        *_table(_HEADER, ((each.case, each.bar, each.measured, each.best_peer, verdict(each)) for each in findings)),
        "",
        f"{sum(each.met is True for each in findings)} met, {sum(each.met is False for each in findings)} missed, "
        f"{sum(each.met is None for each in findings)} without a verdict.",
    ]
    for finding in findings:
        lines += _details(finding)
    return "\n".join(lines) + "\n"


def _details(finding: Finding) -> list[str]:
    lines = ["", f"## {finding.case}", ""]
    turns = finding.turns
    if finding.figures and len(finding.figures) > len(turns.samples) // 4 and not finding.bytes:
        lines += _table(("", "figure"), ((name, f"{value:.4g}") for name, value in finding.figures.items()))
    elif turns.samples:
        rows = []
        for name in sorted(turns.samples, key=lambda name: turns.seconds(name) or 0.0):
            interval = turns.interval(name)
            assert interval is not None
            low, high = shown(interval.low), shown(interval.high)
            rate = shown(interval.median, finding.bytes) if finding.bytes else ""
            rows.append((name, shown(interval.median), f"{low} to {high}", rate, str(len(turns.samples[name]))))
        lines += _table(("", "median", "95 % interval", "rate", "samples"), rows)
    lines += [f"- {name}: left out, {why}" for name, why in turns.left_out.items()]
    return lines


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in lines]


def as_json(findings: Sequence[Finding], fingerprint: Fingerprint, command: str) -> dict[str, Any]:
    """Everything, with every sample in seconds."""
    return {
        "command": command,
        "fingerprint": msgspec.to_builtins(fingerprint),
        "findings": [{**asdict(finding), "verdict": verdict(finding)} for finding in findings],
    }
