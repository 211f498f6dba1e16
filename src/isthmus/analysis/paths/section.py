"""The section on several links: rates of each device by size and way, and what it costs the neighbours."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from isthmus.analysis.figures import figure_cell, narrow_cell
from isthmus.analysis.labels import in_lines, sources
from isthmus.analysis.paths.model import (
    ALL,
    DIRECTIONS,
    MEMORIES,
    OWN,
    Compared,
    ceilings,
    comparisons,
    costs,
    factor_words,
    largest,
    split_words,
    targets,
    way_heading,
)
from isthmus.analysis.phrases import direction_word, memory_label, percent_cell
from isthmus.document.grid import Cell, Column, Grid, Group, Row, brief, missing
from isthmus.document.pivot import Entry, columns_of, groups_of, pivot
from isthmus.document.section import Glance, Part, Section, section_of
from isthmus.grouping import grouped
from isthmus.language import say
from isthmus.record import Run, format_bytes

_COSTS = ("alone", "loss_own", "loss_both", "ours_own", "ours_both")


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of it; None where that is nothing but skips."""
    parts = [
        Part(
            say(f"paths_report.part_{name}"),
            say(f"paths_report.note_{name}"),
            grids=tuple(each.value.titled(each.titled(each.value.title)) for each in sources(runs, grids)),
        )
        for name, grids in (("rates", rate_grids), ("cost", cost_grids))
    ]
    return section_of("paths", parts, ("host",))


def rate_grids(run: Run) -> list[Grid]:
    """A table for each device of which anything was measured."""
    by_target = grouped(comparisons(run), lambda each: each.target)
    measured = (each for each in by_target.items() if any(link.rate for one in each[1] for link in one.links.values()))
    return [_rate_grid(target, of_target) for target, of_target in measured]


def _rate_grid(target: str, compared: Sequence[Compared]) -> Grid:
    peers = max((each.peers for each in compared), key=len)
    links = [link for link in (OWN, *peers, ALL) if link == OWN or any(link in each.links for each in compared)]
    headings = [way_heading(link, len(peers)) for link in links]
    columns = [Column(in_lines(heading), heading) for heading in headings]
    times, split = say("paths_report.times"), say("paths_report.split")
    columns += [Column(in_lines(times), times), Column(in_lines(split), split, prose=True)]
    comma = say("common.comma")
    rows = ((comma.join([memory_label(of.memory), direction_word(of.direction)]), _row(of, links)) for of in compared)
    return Grid(say("paths_report.grid_rates", target=target), tuple(columns), groups_of(rows))


def _row(compared: Compared, links: Sequence[str]) -> Row:
    cells = [figure_cell(compared.links.get(link)) for link in links]
    split = split_words(compared)
    cells += [times_cell(compared), Cell(split) if split else missing(say("paths_report.undivided"))]
    return Row(format_bytes(compared.bytes), tuple(cells))


def times_cell(compared: Compared) -> Cell:
    """How many times as fast the best way is as the own link alone."""
    gain = compared.gain(compared.best)
    if gain is None:
        return missing()
    span = say("common.range", low=factor_words(gain.low), high=factor_words(gain.high))
    return Cell(factor_words(gain.median), detail=span)


def cost_grids(run: Run) -> list[Grid]:
    """One table: a group for each pair of devices, a row for each work during copies of either direction."""
    columns = columns_of(say(f"paths_report.heading_{name}") for name in _COSTS)
    grid = pivot(say("paths_report.grid_cost"), say("paths_report.corner_cost"), columns, _entries(run))
    return [grid] if grid else []


def _entries(run: Run) -> Iterator[Entry]:
    for cost in costs(run):
        group = say("paths_report.beside", peer=cost.peer, target=cost.target, size=format_bytes(cost.bytes))
        row = say(f"paths_report.work_{cost.work}", direction=direction_word(cost.direction))
        links = "own" if cost.method == OWN else "both"
        loss = percent_cell(cost.loss, wide=cost.wide)
        loss = brief(replace(loss, detail=say("common.half", half=loss.half_width, unit="%")))
        cells = {f"loss_{links}": loss, f"ours_{links}": narrow_cell(cost.rate)}
        if cost.work_rate:
            cells["alone"] = narrow_cell(cost.work_rate)
        for name, cell in cells.items():
            yield Entry(group, row, say(f"paths_report.heading_{name}").replace("\n", " "), cell)


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
        say(f"paths_report.glance_{name}", direction=direction_word(direction))
        for direction in DIRECTIONS
        for name in ("own", "all", "times")
    ]
    title = say("paths_report.glance", size=format_bytes(max(sizes)))
    return Glance((Grid(title, columns_of(headings), (Group("", tuple(rows)),), say("paths_report.glance_corner")),))
