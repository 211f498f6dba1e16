"""What the picture of a trace consists of: lanes over a common time, of bounded size however long the trace is.

A lane holds its longest records one by one; where they are many, also of every equal part of the time the share in
which any record was in progress.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from isthmus.document.chart import Look, look, numbered_look
from isthmus.document.document import Picture
from isthmus.document.section import Lane, Lanes
from isthmus.language import clauses, say
from isthmus.report.trace.names import copy_kinds
from isthmus.report.trace.records import named
from isthmus.report.trace.totals import devices_of, recorded_on
from isthmus.trace import UNKNOWN, Copies, Integers, Trace, grouped, kernel_name, site_words, union

# In all lanes together.
MOST_SINGLE = 20_000
# From so many on, short ones drawn as wide as can be seen would fill a lane that is mostly idle.
_CROWDED = 500
_MOST_LANES = 64
_PARTS = 2000
_LONGEST_TEXT = 200


@dataclass(frozen=True)
class _Source:
    """Records that are to share a lane; `tell` says what is known of the one at a place."""

    name: str
    look: Look
    start_ns: Integers
    end_ns: Integers
    tell: Callable[[int], str]
    bytes: Integers | None = None


def timeline(trace: Trace) -> Picture:
    """When the program of a trace copied, computed and called."""
    return Picture(trace.name, partial(lanes_of, trace))


def lanes_of(trace: Trace) -> Lanes:
    """The lanes in their order: of each device copies, kernels and when it was idle, then calls by thread."""
    begin, end = trace.span_ns
    sources = [*_devices(trace), *_threads(trace)]
    lanes = Lanes(end - begin, left_out=max(len(sources) - _MOST_LANES, 0))
    sources = sources[:_MOST_LANES]
    # How many of each may be there singly, so that all are MOST_SINGLE at most and small ones are there whole.
    sizes = [source.start_ns.size for source in sources]
    shares = [0] * len(sizes)
    left = MOST_SINGLE
    for done, place in enumerate(sorted(range(len(sizes)), key=lambda place: sizes[place])):
        shares[place] = min(sizes[place], left // (len(sizes) - done))
        left -= shares[place]
    for source, most in zip(sources, shares, strict=True):
        lanes.lanes.append(_lane(lanes, source, most, begin))
    return lanes


def _devices(trace: Trace) -> Iterator[_Source]:
    for device in devices_of(trace):
        number = "?" if device == UNKNOWN else str(device)
        name = partial(_lane_name, number)
        copies = trace.copies.taken(trace.copies.device == device)
        kernels, memsets = (table.taken(table.device == device) for table in (trace.kernels, trace.memsets))
        for kind in copy_kinds(copies):
            chosen = copies.taken(kind.rows)
            tell = partial(_copy_words, trace, chosen)
            yield _Source(
                name(kind.name), look(kind.memory or "device"), chosen.start_ns, chosen.end_ns, tell, chosen.bytes
            )
        if len(kernels):
            tell = partial(_words, trace, kernels.name, kernels.stream, kernel_name)
            title = say("trace_report.kernels")
            yield _Source(name(title), numbered_look(2), kernels.start_ns, kernels.end_ns, tell)
        if len(memsets):
            tell = partial(_words, trace, memsets.name, memsets.stream, str)
            yield _Source(name("memset"), numbered_look(3), memsets.start_ns, memsets.end_ns, tell, memsets.bytes)
        starts, ends = (
            np.concatenate([getattr(table, side) for table in (copies, kernels, memsets)])
            for side in ("start_ns", "end_ns")
        )
        gaps = union(starts, ends).gaps(*trace.span_ns)
        if known := recorded_on(trace, device):
            gaps = gaps.without(known.gaps(*trace.span_ns))
        yield _Source(name(say("trace_report.column_idle")), numbered_look(5), gaps.begin, gaps.end, lambda _: "")


def _threads(trace: Trace) -> Iterator[_Source]:
    """Those that spent most time in calls first."""
    calls = trace.calls
    for rows in sorted(grouped(calls.thread, calls.process), key=lambda rows: -int(calls.lasted_ns[rows].sum())):
        chosen = calls.taken(rows)
        process, thread = int(chosen.process[0]), int(chosen.thread[0])
        pid = trace.processes[process].pid if 0 <= process < len(trace.processes) else ""
        name = say("trace_report.lane_thread", pid=pid, thread="" if thread == UNKNOWN else thread)
        tell = partial(_words, trace, chosen.name, None, str)
        yield _Source(name, numbered_look(6), chosen.start_ns, chosen.end_ns, tell)


def _lane(lanes: Lanes, source: _Source, most: int, begin: int) -> Lane:
    lasted = (source.end_ns - source.start_ns).clip(0)
    records = lasted.size
    places = np.arange(records)
    busy: list[int] = []
    if records > most:
        places = np.sort(np.argpartition(-lasted, most)[:most])
    if records > min(most, _CROWDED):
        edges = begin + np.arange(_PARTS + 1) * lanes.span // _PARTS
        covered = np.diff(union(source.start_ns, source.end_ns).before(edges))
        # Rounded up, so that what is there at all can be seen.
        busy = np.ceil(255 * covered / np.maximum(np.diff(edges), 1)).astype(int).tolist()
    moved = [] if source.bytes is None else source.bytes[places].clip(0).tolist()
    texts = [lanes.texts.setdefault(source.tell(place)[:_LONGEST_TEXT], len(lanes.texts)) for place in places.tolist()]
    start = (source.start_ns[places] - begin).tolist()
    return Lane(source.name, source.look.variable, records, start, lasted[places].tolist(), texts, moved, busy)


def _lane_name(device: str, name: str) -> str:
    return say("trace_report.lane_device", device=device, name=name)


def _copy_words(trace: Trace, copies: Copies, row: int) -> str:
    """Call, stream and the innermost line of the program."""
    call = int(copies.call[row])
    known = 0 <= call < len(trace.calls)
    name = (named(trace.names, int(trace.calls.name[call])) or "") if known else ""
    site = int(trace.calls.site[call]) if known else UNKNOWN
    line = site_words(trace.sites[site]) if 0 <= site < len(trace.sites) else ""
    return clauses([name, _stream(int(copies.stream[row])), line])


def _words(trace: Trace, name: Integers, stream: Integers | None, shown: Callable[[str], str], row: int) -> str:
    """The name of the kernel or the call at a place, and its stream."""
    text = shown(named(trace.names, int(name[row])) or "")
    return clauses([text, "" if stream is None else _stream(int(stream[row]))])


def _stream(number: int) -> str:
    return "" if number == UNKNOWN else say("trace_report.stream", stream=number)
