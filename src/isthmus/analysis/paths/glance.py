"""Several links at a glance: the largest copies of each device, by the own link alone and by all, and the factor."""

from isthmus.analysis.figures import figure_cell
from isthmus.analysis.paths.model import DIRECTIONS, MEMORIES, OWN, ceilings, largest, targets
from isthmus.analysis.paths.section import times_cell
from isthmus.analysis.phrases import memory_label, way_word
from isthmus.document.grid import Cell, Grid, Group, Row, missing
from isthmus.document.pivot import columns_of
from isthmus.document.section import Glance
from isthmus.language import say
from isthmus.record import Run, format_bytes


def glance(run: Run) -> Glance | None:
    """None where no two links were measured."""
    rows, sizes = [], set()
    for target in targets(run):
        for memory in MEMORIES:
            compared = [largest(run, target, memory, direction) for direction in DIRECTIONS]
            if not any(compared):
                continue
            sizes |= {each.bytes for each in compared if each}
            cells = [
                cell
                for each in compared
                for cell in (
                    (figure_cell(each.links[OWN]), figure_cell(each.links[each.best or OWN]), times_cell(each))
                    if each
                    else (missing(), missing(), missing())
                )
            ]
            rows.append(Row(say("labels.named_value", name=target, value=memory_label(memory)), tuple(cells)))
    if not rows:
        return None
    if known := {each.direction: each for each in ceilings(run)}:
        at_once = [figure_cell(known[each].figure) if each in known else missing() for each in DIRECTIONS]
        cells = [cell for rate in at_once for cell in (rate, Cell(""), Cell(""))]
        rows.append(Row(say("paths_report.at_once", count=next(iter(known.values())).devices), tuple(cells)))
    headings = [
        say(f"paths_report.glance_{name}", way=way_word(direction))
        for direction in DIRECTIONS
        for name in ("own", "all", "times")
    ]
    title = say("paths_report.glance", size=format_bytes(max(sizes)))
    return Glance((Grid(title, columns_of(headings), (Group("", tuple(rows)),), say("paths_report.glance_corner")),))
