"""The tables of a check against a reference: rates and latencies, other figures that are out of range, and all."""

import math
from collections.abc import Sequence

from isthmus.compare import Checkup, FigureResult, Position
from isthmus.document.grid import Cell, Column, Grid, Group, Row
from isthmus.language import say
from isthmus.report.comparison.checkup_words import expected_text, figure_name, value_text
from isthmus.report.comparison.tables import NotedTable

_MOST_ROWS = 20


def check_tables(checkup: Checkup) -> list[NotedTable]:
    """Rates and latencies of plain transfers, then those of all other figures that are farthest out of range."""
    plain = [each for each in checkup.figures if each.expected.quantity != "time" and each.expected.method != "duplex"]
    plain.sort(key=lambda each: each.expected.quantity == "latency")
    times = [each for each in checkup.figures if each.expected.quantity == "time" and each.position != "right"]
    times.sort(key=lambda each: -abs(math.log(each.value / each.expected.typical)))
    found = []
    if plain:
        found.append(NotedTable(_grid("compare.check_rates", plain), say("compare.check_rates_note")))
    if times:
        out = _grid("compare.check_out", times[:_MOST_ROWS])
        found.append(NotedTable(out, say("compare.check_times_note")))
    return found


def every_figure(checkup: Checkup) -> list[Grid]:
    """All other times, in the order of the reference; none where the run has none."""
    times = [each for each in checkup.figures if each.expected.quantity == "time"]
    return [_grid("compare.check_times", times)] if times else []


def _grid(title: str, figures: Sequence[FigureResult]) -> Grid:
    rows = tuple(
        Row(
            figure_name(figure),
            (Cell(value_text(figure)), Cell(expected_text(figure)), _position(figure.position)),
        )
        for figure in figures
    )
    names = ("compare.column_value", "compare.column_expected", "compare.column_verdict")
    columns = tuple(Column(say(name), say(name)) for name in names)
    return Grid(say(title), columns, (Group("", rows),), corner=say("compare.column_figure"))


def _position(position: Position) -> Cell:
    return Cell(say(f"compare.position_{position}"), state="failed" if position == "slow" else "ok")
