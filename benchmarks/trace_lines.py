"""Programs of torch and CuPy: whether a trace knows the lines that copy, and from or to which kind of memory."""

import json
import re
import sys
from collections import Counter
from functools import partial
from importlib.util import find_spec
from typing import NamedTuple

from finding import Finding, decided
from trace_programs import SOURCES, Case, Count, Programs, asked_for

from isthmus.errors import CallFailed, IsthmusError
from isthmus.trace import DIRECTIONS, MEMORY_KINDS, UNKNOWN, Trace, open_trace

BAR = "line, direction, kind of memory, calls and bytes as the program says"


class Line(NamedTuple):
    """A line of a program, and what it copies."""

    number: int
    direction: str
    # Of the host's memory.
    kind: str


Lines = dict[Line, Count]


def cases() -> dict[str, Case]:
    """A case for each library."""
    return {library: Case(BAR, partial(measure_lines, library=library)) for library in ("torch", "cupy")}


def measure_lines(programs: Programs, library: str) -> Finding:
    """The program of one library, traced once."""
    finding = Finding(f"lines of {library}", BAR)
    if find_spec(library) is None:
        finding.why_not = f"{library} is not installed"
        return finding
    script = SOURCES / f"{library}_copies.py"
    try:
        output, trace = programs.traced_output(library, [sys.executable, str(script)])
        copied = read_copied(output)
        found = lines_of(open_trace(trace), script.name)
    except IsthmusError as error:
        finding.why_not = str(error)
        return decided(finding, False)
    return judged_lines(finding, copied, found)


def read_copied(output: str) -> Lines:
    """What a program says of its lines. Raises CallFailed where it is something else."""
    try:
        return {
            Line(each["line"], each["direction"], each["kind"]): Count(each["calls"], each["bytes"])
            for each in json.loads(output)["copied"]
        }
    except (ValueError, KeyError, TypeError) as error:
        raise CallFailed(f"expected a line of JSON with what each line copied, found {output[:500]}") from error


def lines_of(trace: Trace, script: str) -> Lines:
    """What a trace has of the lines of a script: the innermost of them, of each call."""
    frame = re.compile(rf"(?:.*/)?{re.escape(script)}:(\d+)\b")
    lines = []
    for site in trace.sites:
        matches = (frame.match(each) for each in site)
        lines.append(next((int(match[1]) for match in matches if match), UNKNOWN))
    copies = asked_for(trace)
    calls: Counter[Line] = Counter()
    moved: Counter[Line] = Counter()
    for place in range(len(copies)):
        call = int(copies.call[place])
        site_index = int(trace.calls.site[call]) if call != UNKNOWN else UNKNOWN
        number = lines[site_index] if site_index != UNKNOWN else UNKNOWN
        if number == UNKNOWN:
            continue
        direction = DIRECTIONS[int(copies.direction[place])]
        host = copies.source if direction == "h2d" else copies.destination
        kind = int(host[place])
        line = Line(number, direction, MEMORY_KINDS[kind] if kind != UNKNOWN else "unknown")
        calls[line] += 1
        moved[line] += int(copies.bytes[place])
    return {line: Count(calls[line], moved[line]) for line in calls}


def judged_lines(finding: Finding, copied: Lines, found: Lines) -> Finding:
    """The finding with its verdict: every line as the program says, and no other line."""
    right = [line for line, count in copied.items() if found.get(line) == count]
    wrong = [f"not found: {_words(line, count)}" for line, count in copied.items() if line not in right]
    wrong += [f"found: {_words(line, count)}" for line, count in sorted(found.items()) if line not in right]
    finding.measured = f"{len(right)} of {len(copied)} lines"
    finding.why_not = "; ".join(wrong)
    return decided(finding, not wrong)


def _words(line: Line, count: Count) -> str:
    return f"line {line.number}, {count.calls} {line.direction} {line.kind} of {count.bytes} B"
