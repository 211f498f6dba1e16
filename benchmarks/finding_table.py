"""Findings of a benchmark as a table of Markdown, and with all samples as JSON."""

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from finding import Finding, shown

from isthmus.record import MIB

# More than these are in the file alone.
MOST_SHOWN = 20
_HEADER = ("case", "bar", "measured", "best of the others", "verdict")


def verdict(finding: Finding) -> str:
    """Met, missed, or why neither."""
    if finding.met is None:
        return f"no verdict: {finding.why_not}"
    return "met" if finding.met else "missed" + (f": {finding.why_not}" if finding.why_not else "")


def line(finding: Finding) -> str:
    """One finding for the terminal."""
    peer = f"; best of the others {finding.best_peer}" if finding.best_peer else ""
    found = f"{finding.case}: {finding.measured or 'not measured'} (bar {finding.bar}{peer}) - {verdict(finding)}"
    return "\n  ".join([found, *_others(finding)])


def _others(finding: Finding) -> list[str]:
    """Every contender of a case that compares a few of them, and those that did not run, with why."""
    turns = finding.turns
    found = []
    if finding.bytes and len(turns.samples) <= MOST_SHOWN:
        medians = {name: seconds for name in turns.samples if (seconds := turns.seconds(name))}
        ranked = sorted(medians, key=lambda name: medians[name])
        size = finding.bytes if finding.bytes >= MIB else 0
        found.append(", ".join(f"{name} {shown(medians[name], size)}" for name in ranked))
    return [*found, *(f"without {name}: {why}" for name, why in turns.left_out.items())]


def summary(findings: Sequence[Finding]) -> str:
    """How many bars were met, missed, and neither."""
    counts = (sum(each.met is met for each in findings) for met in (True, False, None))
    return "{} met, {} missed, {} without a verdict".format(*counts)


def write(
    folder: Path, name: str, heading: Sequence[str], about: Mapping[str, object], findings: Sequence[Finding]
) -> None:
    """NAME.md, a table below the heading, and NAME.json.gz, all samples beside what they are about."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(_markdown(heading, findings), "utf-8")
    samples = {**about, "findings": [{**asdict(finding), "verdict": verdict(finding)} for finding in findings]}
    (folder / f"{name}.json.gz").write_bytes(gzip.compress(json.dumps(samples).encode(), mtime=0))


def _markdown(heading: Sequence[str], findings: Sequence[Finding]) -> str:
    """The table, and below it every contender of every case."""
    rows = [(each.case, each.bar, each.measured, each.best_peer, verdict(each)) for each in findings]
    shown_columns = [place for place, name in enumerate(_HEADER) if name != _HEADER[3] or any(row[3] for row in rows)]
    table = [[row[place] for place in shown_columns] for row in (_HEADER, *rows)]
    lines = [*heading, "", *_table(table[0], table[1:]), "", f"{summary(findings)}."]
    for finding in findings:
        lines += _details(finding)
    return "\n".join(lines) + "\n"


def _details(finding: Finding) -> list[str]:
    lines: list[str] = []
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
    return ["", f"## {finding.case}", "", *lines] if lines else []


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in lines]
