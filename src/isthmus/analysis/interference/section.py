"""The section on interference: what each method costs each neighbour at which rate, as a table and a chart."""

from collections.abc import Sequence

from isthmus.analysis.frame import section_of
from isthmus.analysis.interference.charts import cost_part
from isthmus.analysis.interference.model import NEIGHBOURS, Cost, costs
from isthmus.analysis.interference.words import way_words
from isthmus.analysis.labels import run_title
from isthmus.analysis.phrases import percent_cell
from isthmus.document.grid import Cell, Column, Grid, Group, Row, interval_cell, missing
from isthmus.document.section import Part, Section
from isthmus.language import say
from isthmus.record import Run, format_bytes


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of it; None where that is nothing but skips."""
    grid = cost_grid(runs)
    title = say("interference_report.grid")
    table = Part(title, say("interference_report.grid_note"), grids=(grid,)) if grid else None
    return section_of("interference", [table, cost_part(runs)], ("load",))


def cost_grid(runs: Sequence[Run]) -> Grid | None:
    """A row for each method, a pair of columns for each neighbour, a group for each run, size and direction."""
    groups = []
    for index, run in enumerate(runs):
        by_row: dict[tuple[int, str], dict[tuple[str, str, int, int], dict[str, Cost]]] = {}
        for cost in costs(run):
            methods = by_row.setdefault((cost.bytes, cost.direction), {})
            methods.setdefault(cost.key, {})[cost.neighbour] = cost
        for (size, direction), methods in by_row.items():
            words = [run_title(runs, index)] if len(runs) > 1 else []
            title = say("common.comma").join([*words, direction.upper(), format_bytes(size)])
            groups.append(Group(title, tuple(map(_row, methods.values()))))
    if not groups:
        return None
    columns = [
        Column(heading, f"{say(f'interference_report.neighbour_{neighbour}')}: {heading}", minor=name == "rate")
        for neighbour in NEIGHBOURS
        for name in ("slowdown", "rate")
        for heading in [_heading(neighbour, name)]
    ]
    return Grid(say("interference_report.grid"), tuple(columns), tuple(groups), corner=say("interference_report.way"))


def _heading(neighbour: str, name: str) -> str:
    return f"{say(f'interference_report.heading_{neighbour}')}\n{say(f'interference_report.heading_{name}')}"


def _row(of_neighbours: dict[str, Cost]) -> Row:
    cells: list[Cell] = []
    for neighbour in NEIGHBOURS:
        cost = of_neighbours.get(neighbour)
        if cost is None:
            cells += [missing(), missing()]
            continue
        cells.append(percent_cell(cost.slowdown, wide=cost.wide))
        cells.append(interval_cell(cost.rate, scale=1e-9))
    return Row(way_words(next(iter(of_neighbours.values()))), tuple(cells))
