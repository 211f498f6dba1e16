"""The document of a trace: what moved, how busy devices were, nvprof's two tables, and what the trace cannot say."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, get_args

from isthmus.advice import Advice
from isthmus.document.document import Answer, Block, Bullets, Data, Document, Heading, Item, Prose, Records, Table
from isthmus.document.grid import Grid, text_grid
from isthmus.language import enumerated, in_brackets, say, speaking
from isthmus.record import decimal_bytes, format_rate, format_seconds
from isthmus.report.advice import advice_blocks, short_blocks
from isthmus.report.trace.lanes import timeline
from isthmus.report.trace.names import direction_name
from isthmus.report.trace.records import COPY_COLUMNS, copy_records
from isthmus.report.trace.totals import TraceRow, activity_rows, call_rows, kernels_recorded, moved, shares
from isthmus.trace import DIRECTIONS, UNKNOWN, Copies, Knowledge, Maker, Trace, direction_index

# Kernels and calls that take longest are named; the rest is one line.
_MOST_NAMES = 20
_MOST_PROCESSES = 32
_MAKERS: Mapping[Maker, str] = {
    "isthmus": "isthmus trace",
    "nsys": "Nsight Systems",
    "kineto": "torch.profiler",
    "xla": "XLA's profiler",
    "rocprof": "rocprof",
}
# Between the frames of a site, the innermost first.
_CALLED_FROM = " < "


def trace_document(trace: Trace, advice: Advice | None = None) -> Document:
    """What a trace holds, and the advice on it, if any, of which a terminal gets a line a finding."""
    blocks = [*_blocks(trace)]
    if advice:
        blocks.append(Heading(say("advice_report.findings")))
        blocks += [replace(block, where="terminal") for block in short_blocks(advice)]
        blocks += [replace(block, where="long") for block in advice_blocks(advice, trace) if block.where != "terminal"]
    return Document(
        "trace",
        say("trace_report.title", name=trace.name),
        tuple(blocks),
        subject=trace,
        records=Records(COPY_COLUMNS, lambda: map(_cells, copy_records(trace))),
        data=Data(lambda: _data(trace), ("copies", lambda: map(_known_fields, copy_records(trace)))),
    )


def _blocks(trace: Trace) -> Iterator[Block]:
    begin, end = trace.span_ns
    seconds = _time(end - begin)
    yield Prose(
        say("trace_report.recorded", maker=_MAKERS[trace.maker], count=len(trace.processes), span=seconds), "small"
    )
    # What moved in each direction, in one sentence.
    parts = []
    for each in moved(trace):
        name = say(
            "trace_report.migration" if each.migration else "trace_report.copy",
            direction=direction_name(each.direction),
        )
        size = decimal_bytes(each.bytes)
        size = say("trace_report.at_least", size=size) if each.is_least else size
        parts.append(f"{name} {size}{in_brackets(f'{each.copies}x')}")
    yield Answer(((say("trace_report.moved", list=enumerated(parts)) if parts else say("trace_report.no_copies")),))
    if end > begin:
        yield timeline(trace)
        if devices := shares(trace):
            yield Table((_devices(trace, end - begin),))
        if len(trace.processes) > 1:
            yield Table((_processes(trace),))
        for title, rows in (("activities", activity_rows(trace)), ("calls", call_rows(trace))):
            if rows:
                yield from _table(
                    say(f"trace_report.heading_{title}"), rows, with_bytes=bool(devices) and title != "calls"
                )
    lacking = [name for name in get_args(Knowledge) if name not in trace.knows]
    remarks = [say("trace_report.lacking", names=enumerated([_known(name) for name in lacking]))] if lacking else []
    if recorded := kernels_recorded(trace):
        remarks.insert(0, say("trace_report.windows", count=len(trace.windows), share=_percent(recorded.share)))
    if remarks or trace.notes:
        yield Heading(say("trace_report.remarks"))
        yield Bullets(tuple(map(Item, (*trace.notes, *remarks))))


def _devices(trace: Trace, span_ns: int) -> Grid:
    rows = []
    for share in shares(trace):
        name = trace.devices.get(share.device, "")
        number = "?" if share.device == UNKNOWN else str(share.device)
        times = (share.copying_ns, share.computing_ns, share.both_ns, share.idle_ns)
        rows.append((f"{number} {name}".strip(), [_percent(each / span_ns) for each in times]))
    columns = _columns("copying", "computing", "both", "idle")
    return text_grid("", say("trace_report.devices"), columns, rows)


def _processes(trace: Trace) -> Grid:
    rows = []
    for number, process in enumerate(trace.processes[:_MOST_PROCESSES]):
        copies = trace.copies.taken(trace.copies.process == number)
        rank = say("trace_report.rank", rank=process.rank) if process.rank is not None else ""
        computed = int(trace.kernels.lasted_ns[trace.kernels.process == number].clip(0).sum())
        sizes = (decimal_bytes(_bytes(copies, direction)) for direction in ("h2d", "d2h"))
        cells = (str(len(copies)), *sizes, _time(int(copies.lasted_ns.clip(0).sum())), _time(computed))
        rows.append((" ".join(filter(None, (str(process.pid), process.name, rank))), cells))
    copied, *times = _columns("number", "copying", "computing")
    return text_grid("", say("trace_report.processes"), [copied, "H2D", "D2H", *times], rows)


def _bytes(copies: Copies, direction: str) -> int:
    return int(copies.bytes[copies.direction == direction_index(direction)].clip(0).sum())


def _table(title: str, rows: Sequence[TraceRow], *, with_bytes: bool) -> Iterator[Block]:
    """The columns of nvprof, with bytes and rate; all copies, and those others with the most time."""
    total = sum(row.total_ns for row in rows) or 1
    others = [row for row in rows if row.kind in ("kernel", "call")]
    hidden = others[_MOST_NAMES:]
    left_out = set(map(id, hidden))
    moving = ("bytes", "rate") if with_bytes else ()
    corner, *columns = _columns("name", "share", "time", "number", "average", "least", "most", *moving)
    shown = [_row(row, total, with_bytes=with_bytes) for row in rows if id(row) not in left_out]
    yield Table((text_grid(title, corner, columns, shown, minor=_columns("least", "most")),))
    if hidden:
        percent = _percent(sum(row.total_ns for row in hidden) / total)
        yield Prose(say("trace_report.left_out", count=len(hidden), share=percent), "small")


def _row(row: TraceRow, total_ns: int, *, with_bytes: bool) -> tuple[str, tuple[str, ...]]:
    total, *times = map(_time, (row.total_ns, row.mean_ns, row.least_ns, row.most_ns))
    size = "" if row.bytes is None else decimal_bytes(row.bytes)
    rate = "" if row.bytes_per_second is None else format_rate(row.bytes_per_second)
    share = _percent(row.total_ns / total_ns)
    return row.name, (share, total, str(row.calls), *times, *((size, rate) if with_bytes else ()))


def _columns(*names: str) -> list[str]:
    return [say(f"trace_report.column_{name}") for name in names]


def _known(name: Knowledge) -> str:
    return say(f"trace_report.known_{name}")


def _time(nanoseconds: float) -> str:
    return format_seconds(nanoseconds / 1e9)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _cells(record: tuple[Any, ...]) -> dict[str, Any]:
    """A copy as a line of a table, empty where nothing is known."""

    def cell(value: Any) -> Any:
        if isinstance(value, bool):
            return "yes" if value else "no"
        return _CALLED_FROM.join(value) if isinstance(value, list) else value

    return dict(zip(COPY_COLUMNS, map(cell, record), strict=True))


def _known_fields(record: tuple[Any, ...]) -> dict[str, Any]:
    return {name: value for name, value in zip(COPY_COLUMNS, record, strict=True) if value is not None}


def _data(trace: Trace) -> Mapping[str, Any]:
    """Totals and nvprof's tables for scripts; names are English whatever language is spoken."""
    begin, end = trace.span_ns
    with speaking("en"):
        rows = {"activities": activity_rows(trace), "calls": call_rows(trace)}
    return {
        "format": "isthmus.transfers",
        "schema_version": 1,
        "name": trace.name,
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
        **({"kernels_recorded": asdict(recorded)} if (recorded := kernels_recorded(trace)) else {}),
    } | {
        name: [{key: value for key, value in asdict(row).items() if value is not None} for row in table]
        for name, table in rows.items()
    }
