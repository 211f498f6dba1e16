"""Documents as texts that a person can review: at 80 columns, JSON with a part of its long lists, charts in words."""

import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from isthmus.document.chart import Axis, Drawn, Row, Spec, Tiles
from isthmus.document.document import Charts, Document, Heading, Table
from isthmus.document.grid import spread
from isthmus.document.section import Chart
from isthmus.report import write
from isthmus.report.renderers import terminal

WIDTH = 80
# A longer list has its first item of each kind alone, and at most so many.
MOST_ITEMS = 40
# Sums of many numbers differ in their last digits from one processor to another.
DIGITS = 6
MOST_POINTS = 3


def on_terminal(document: Document) -> str:
    """What a terminal of 80 columns shows."""
    out = io.StringIO()
    terminal.write(document, out, width=WIDTH)
    return out.getvalue()


def in_format(document: Document, format_name: str) -> str:
    """What a file in that format has."""
    out = io.StringIO()
    write(document, format_name, out)
    return out.getvalue()


def on_pages(document: Document) -> str:
    """What pages and files for people have, and no terminal: machines and the method."""
    return in_format(
        replace(document, blocks=tuple(each for each in document.blocks if each.where == "long")), "markdown"
    )


def abridged(text: str) -> str:
    """JSON with numbers of six digits and parts of long lists; what holds plain values alone is a line."""
    return _written(_short(json.loads(text)), "") + "\n"


def _written(value: Any, indent: str) -> str:
    inner = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(inner, list) or not any(isinstance(each, dict | list) and each for each in inner):
        return json.dumps(value, ensure_ascii=False)
    begin, end = "{}" if isinstance(value, dict) else "[]"
    names = [f"{json.dumps(name)}: " for name in value] if isinstance(value, dict) else [""] * len(value)
    lines = [f"{indent} {name}{_written(each, f'{indent} ')}" for name, each in zip(names, inner, strict=True)]
    return f"{begin}\n" + ",\n".join(lines) + f"\n{indent}{end}"


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _short(each) for name, each in value.items()}
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if not isinstance(value, list):
        return value
    if len(value) <= MOST_ITEMS:
        return [_short(each) for each in value]
    first = list({_kind(each): each for each in reversed(value)}.values())[::-1]
    kept = [first[at] for at in spread(len(first), MOST_ITEMS)]
    return [f"{len(kept)} of {len(value)}", *map(_short, kept)]


def _kind(item: Any) -> tuple[object, ...]:
    names = ("experiment", "method", "metric", "verdict", "skipped")
    return tuple(str(item.get(name)) for name in names) if isinstance(item, dict) else (str(item),)


def charts(document: Document) -> str:
    """The charts of a page: axes, curves and a few of their points; empty where there are none."""
    lines: list[str] = []
    heading = ""
    for block in document.blocks:
        if isinstance(block, Heading):
            heading = block.text
        if isinstance(block, Charts):
            lines += ["", heading, *(line for chart in block.charts for line in _chart(chart))]
            lines += [f"  legend: {', '.join(entry.name for entry in block.legend)}"] * bool(block.legend)
    return "".join(f"{line}\n" for line in lines[1:])


def _chart(chart: Chart) -> Iterator[str]:
    spec = chart.spec
    yield f"  {chart.title} [{chart.name}]: {chart.label}"
    if isinstance(spec, Tiles):
        yield f"    x {spec.x_title}: {', '.join(spec.across)}"
        yield f"    y {spec.y_title}: {', '.join(spec.down)}"
        yield from _drawn(spec.kinds)
        return
    yield f"    x {_axis(spec.x)}"
    if isinstance(spec, Spec):
        yield f"    y {_axis(spec.y)}"
        yield from (f"    rule {_point(y)}: {text}" for y, text in spec.rules)
        yield from _drawn(spec.curves)
    else:
        yield from _drawn(spec.lanes)


def _axis(axis: Axis) -> str:
    ends = " to ".join(map(_point, axis.domain)) if axis.domain else "the data's"
    return f"{axis.title}: {ends}, {axis.scale}, {axis.labels}"


def _drawn(every: Iterable[Drawn]) -> Iterator[str]:
    for each in every:
        yield f"    {each.name} ({each.look.variable}), {len(each.rows)} points"
        yield from map(_row, (each.rows[at] for at in spread(len(each.rows), MOST_POINTS)))
        yield from (f"{_row(row)}, failed" for row in each.failed)


def _row(row: Row) -> str:
    return "      " + ", ".join(_point(value) for name, value in row.items() if name != "kind")


def _point(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float | int) else str(value)


def details(document: Document) -> str:
    """What cells of tables say when they are pointed at, but for figures."""
    lines = []
    for grid in (grid for block in document.blocks if isinstance(block, Table) for grid in block.grids):
        names = [f"{column.name} {column.run}".strip() for column in grid.columns]
        for group in grid.groups:
            for row in group.rows:
                told = (
                    f"{name} {cell.state}: {cell.detail}"
                    for name, cell in zip(names, row.cells, strict=True)
                    if cell.detail and cell.state != "ok"
                )
                lines += [f"{grid.title} / {group.title} / {row.heading} / {each}" for each in told]
    return "".join(f"{line}\n" for line in lines)
