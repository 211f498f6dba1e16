"""A trace as blocks: what moved, how busy devices were, nvprof's two tables, and what the trace cannot say."""

from collections.abc import Iterator, Sequence
from typing import get_args

from isthmus.document.grid import Cell, Column, Grid, Group, Row
from isthmus.language import enumerated, say
from isthmus.record import decimal_bytes, format_rate, format_seconds
from isthmus.report.blocks.blocks import Block, Bullets, Heading, Picture, Prose, Table
from isthmus.report.trace.names import way_name
from isthmus.report.trace.rows import TraceRow, activity_rows, call_rows
from isthmus.report.trace.totals import moved, shares
from isthmus.trace import UNKNOWN, Copies, Knowledge, Trace, direction_index

# Of kernels and of calls, by their time; the rest of them is one line.
_MOST_NAMES = 20
_MOST_PROCESSES = 32


def trace_blocks(trace: Trace) -> Iterator[Block]:
    """The whole report of a trace, in the language spoken now."""
    yield Heading(say("trace_report.title", name=trace.path.name), 1)
    begin, end = trace.span_ns
    maker = say(f"trace_report.maker_{trace.maker}")
    seconds = _time(end - begin)
    yield Prose(say("trace_report.recorded", maker=maker, count=len(trace.processes), span=seconds), "small")
    yield Prose(_answer(trace), "answer")
    if end > begin:
        yield Picture(trace)
        if devices := shares(trace):
            yield Table(_devices(trace, end - begin))
        if len(trace.processes) > 1:
            yield Table(_processes(trace))
        for title, rows in (("activities", activity_rows(trace)), ("calls", call_rows(trace))):
            if rows:
                yield from _table(
                    say(f"trace_report.heading_{title}"), rows, with_bytes=bool(devices) and title != "calls"
                )
    lacking = [name for name in get_args(Knowledge) if name not in trace.knows]
    remarks = [say("trace_report.lacking", names=enumerated([_known(name) for name in lacking]))] if lacking else []
    if remarks or trace.notes:
        yield Heading(say("trace_report.remarks"), 3)
        yield Bullets((*trace.notes, *remarks))


def _answer(trace: Trace) -> str:
    """What moved each way, in one sentence."""
    parts = [
        say(
            "trace_report.moved_migrations" if each.migration else "trace_report.moved_copies",
            bytes=decimal_bytes(each.bytes),
            way=way_name(each.direction),
            count=each.copies,
        )
        for each in moved(trace)
    ]
    if parts:
        return say("trace_report.moved", list=enumerated(parts))
    tables = (trace.calls, trace.kernels, trace.memsets, trace.synchronizations)
    return say("trace_report.no_copies") if any(map(len, tables)) else say("trace_report.nothing")


def _devices(trace: Trace, span_ns: int) -> Grid:
    rows = []
    for share in shares(trace):
        name = trace.devices.get(share.device, "")
        number = say("trace_report.device_unknown") if share.device == UNKNOWN else str(share.device)
        times = (share.copying_ns, share.computing_ns, share.both_ns, share.idle_ns)
        rows.append(Row(f"{number} {name}".strip(), tuple(Cell(_percent(each / span_ns)) for each in times)))
    columns = _columns("copying", "computing", "both", "idle")
    return Grid(say("trace_report.devices"), columns, (Group("", tuple(rows)),), corner=say("trace_report.device"))


def _processes(trace: Trace) -> Grid:
    rows = []
    for number, process in enumerate(trace.processes[:_MOST_PROCESSES]):
        copies = trace.copies.taken(trace.copies.process == number)
        rank = say("trace_report.rank", rank=process.rank) if process.rank is not None else ""
        computed = int(trace.kernels.lasted_ns[trace.kernels.process == number].clip(0).sum())
        cells = (
            Cell(str(len(copies))),
            *(Cell(decimal_bytes(_bytes(copies, way))) for way in ("h2d", "d2h")),
            Cell(_time(int(copies.lasted_ns.clip(0).sum()))),
            Cell(_time(computed)),
        )
        rows.append(Row(" ".join(filter(None, (str(process.pid), process.name, rank))), cells))
    columns = _columns("copies", "bytes_h2d", "bytes_d2h", "copies_took", "kernels_took")
    return Grid(say("trace_report.processes"), columns, (Group("", tuple(rows)),), corner=say("trace_report.process"))


def _bytes(copies: Copies, way: str) -> int:
    return int(copies.bytes[copies.direction == direction_index(way)].clip(0).sum())


def _table(title: str, rows: Sequence[TraceRow], *, with_bytes: bool) -> Iterator[Block]:
    """The columns of nvprof, with bytes and rate before the name; all copies, and those others with the most time."""
    total = sum(row.total_ns for row in rows) or 1
    others = [row for row in rows if row.kind in ("kernel", "call")]
    hidden = others[_MOST_NAMES:]
    left_out = set(map(id, hidden))
    columns = _columns("time", "number", "average", "least", "most", *(("bytes", "rate") if with_bytes else ()))
    name = say("trace_report.column_name")
    shown = tuple(_row(row, total, with_bytes=with_bytes) for row in rows if id(row) not in left_out)
    corner = say("trace_report.column_share")
    yield Table(Grid(title, (*columns, Column(name, name, prose=True)), (Group("", shown),), corner=corner))
    if hidden:
        percent = _percent(sum(row.total_ns for row in hidden) / total)
        yield Prose(say("trace_report.left_out", count=len(hidden), share=percent), "small")


def _row(row: TraceRow, total_ns: int, *, with_bytes: bool) -> Row:
    times = (row.total_ns, row.mean_ns, row.least_ns, row.most_ns)
    total, mean, least, most = (Cell(_time(each)) for each in times)
    moved_cells = (
        Cell("" if row.bytes is None else decimal_bytes(row.bytes)),
        Cell("" if row.bytes_per_second is None else format_rate(row.bytes_per_second)),
    )
    figures = (total, Cell(str(row.calls)), mean, least, most, *(moved_cells if with_bytes else ()))
    return Row(_percent(row.total_ns / total_ns), (*figures, Cell(row.name)))


def _columns(*names: str) -> tuple[Column, ...]:
    return tuple(Column(said, said) for name in names if (said := say(f"trace_report.column_{name}")))


def _known(name: Knowledge) -> str:
    return say(f"trace_report.known_{name}")


def _time(nanoseconds: float) -> str:
    return format_seconds(nanoseconds / 1e9)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
