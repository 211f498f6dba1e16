"""The section on interference: what each method costs each neighbour at which rate, as a table and a chart."""

from collections.abc import Iterator, Sequence

from isthmus.analysis.frame import section_of
from isthmus.analysis.interference.charts import cost_part
from isthmus.analysis.interference.model import NEIGHBOURS, costs
from isthmus.analysis.interference.words import way_words
from isthmus.analysis.labels import run_title
from isthmus.analysis.phrases import percent_cell
from isthmus.document.grid import Column, interval_cell
from isthmus.document.pivot import Entry, pivot
from isthmus.document.section import Part, Section
from isthmus.language import say
from isthmus.record import Run, format_bytes


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of it; None where that is nothing but skips.

    A row for each method, a pair of columns for each neighbour, a group for each run, size and direction.
    """
    title = say("interference_report.grid")
    columns = [
        Column(_heading(neighbour, name), _column(neighbour, name), minor=name == "rate")
        for neighbour in NEIGHBOURS
        for name in ("slowdown", "rate")
    ]
    grid = pivot(title, say("labels.corner_method"), columns, _entries(runs))
    table = Part(title, say("interference_report.grid_note"), grids=(grid,)) if grid else None
    return section_of("interference", [table, cost_part(runs)], ("load",))


def _column(neighbour: str, name: str) -> str:
    return f"{say(f'interference_report.neighbour_{neighbour}')}: {_heading(neighbour, name)}"


def _heading(neighbour: str, name: str) -> str:
    return f"{say(f'interference_report.heading_{neighbour}')}\n{say(f'interference_report.heading_{name}')}"


def _entries(runs: Sequence[Run]) -> Iterator[Entry]:
    for index, run in enumerate(runs):
        for cost in costs(run):
            words = [run_title(runs, index)] if len(runs) > 1 else []
            group = say("common.comma").join([*words, cost.direction.upper(), format_bytes(cost.bytes)])
            slowdown = percent_cell(cost.slowdown, wide=cost.wide)
            for name, cell in (("slowdown", slowdown), ("rate", interval_cell(cost.rate, scale=1e-9))):
                yield Entry(group, way_words(cost), _column(cost.neighbour, name), cell)
