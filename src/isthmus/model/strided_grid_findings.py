"""What grids of sections say: the fastest methods, where something beats the driver's 2-D copy, what it costs a row."""

from collections import Counter
from collections.abc import Sequence

from isthmus.model.contrast import above
from isthmus.model.finding import Finding
from isthmus.model.method_table import held_out
from isthmus.model.phrases import enumerated, link_rate, memory_name
from isthmus.model.strided import WHOLE, StridedCell
from isthmus.model.strided_grid import StridedGrid
from isthmus.model.strided_thresholds import StridedThreshold, row_cost, row_thresholds, width_thresholds
from isthmus.model.strided_words import (
    direction_words,
    grid_words,
    method_words,
    rows_words,
    sides_words,
    width_words,
)
from isthmus.record import Run, format_bytes, format_seconds

__all__ = ["STRIDED_CHALLENGERS", "grid_findings"]

# What can take the place of the driver's copy of many rows.
STRIDED_CHALLENGERS = ("device_pack", "kernel", "mapped_kernel", "pack_threads", "pack_kernel")
# A method so close to the fastest is as good as any.
_WITHIN = 1.1
# As often as the table should choose one.
_ENOUGH = 0.95
_SIDES = {("strided", "contiguous"): "host", ("strided", "strided"): "both"}
_NO_ANSWER = {"never", "cannot_tell"}
# Of the fastest methods of a grid, how many are named.
_MOST_NAMED = 2


def grid_findings(run: Run, grids: Sequence[StridedGrid]) -> list[Finding]:
    """The findings about each kind of memory, and about the table of methods."""
    kinds = dict.fromkeys(grid.host_memory for grid in grids)
    by_memory = [[grid for grid in grids if grid.host_memory == kind] for kind in kinds]
    found = [_row_cost(run, chosen) for chosen in by_memory[:1]]
    found += [_fastest(chosen) for chosen in by_memory]
    # Of other memory the tables of a report have them.
    found += [_crossovers(run, chosen) for chosen in _by_layouts(by_memory[0] if by_memory else [])]
    return [finding for finding in (*found, _table(grids)) if finding]


def _row_cost(run: Run, grids: Sequence[StridedGrid]) -> Finding | None:
    known_within = run.settings.target_relative_half_width
    dense = [grid for grid in grids if grid.pitch_bytes is None]
    costs = [(grid, cost) for grid in dense if (cost := row_cost(grid, known_within)) and cost.seconds.low > 0]
    if not costs:
        return None
    told = [
        f"{format_seconds(cost.seconds.median)} {direction_words(grid.direction)} "
        f"{sides_words(grid.host_layout, grid.device_layout)}"
        for grid, cost in costs
    ]
    grid, cost = costs[0]
    link = link_rate(run)
    least = min(each.seconds.median for _, each in costs)
    cause = ""
    if link and least * link >= 2 * cost.width_bytes:
        cause = (
            f"In {format_seconds(least)} the link carries {format_bytes(int(least * link))}: narrower rows cannot "
            "fill it with this copy."
        )
    return Finding(
        "info",
        "strided_row_cost",
        f"Each further row of {format_bytes(cost.width_bytes)} adds to the driver's 2-D copy of "
        f"{memory_name(grid.host_memory)} {enumerated(told)}, between {cost.first_rows} and {cost.last_rows} rows.",
        cause=cause,
    )


def _fastest(grids: Sequence[StridedGrid]) -> Finding | None:
    """How often, and for which widths, each method is the fastest, by what lies where."""
    parts = []
    for chosen in _by_sides(grids):
        first = chosen[0]
        cells = [cell for grid in chosen for cell in grid.measured.values()]
        told = []
        wins = Counter(cell.fastest for cell in cells)
        for method, count in wins.most_common(_MOST_NAMED):
            widths = sorted({cell.shape.width_bytes for cell in cells if cell.fastest == method})
            span = format_bytes(widths[0]) + (f" to {format_bytes(widths[-1])}" if len(widths) > 1 else "")
            told.append(f"{method_words(method, cells[0])} at {count} (rows of {span})")
        others = len(cells) - sum(count for _, count in wins.most_common(_MOST_NAMED))
        told += [f"others at {others}"] if others else []
        near = sum(bool(cell.as_fast) for cell in cells)
        tied = f"; at {near} of them another one is as fast" if near else ""
        where = f"{direction_words(first.direction)}, {sides_words(first.host_layout, first.device_layout)}"
        parts.append(
            f"{where}, of {len(cells)} point{'' if len(cells) == 1 else 's'}: {enumerated(told)}{tied}{_whole(cells)}"
        )
    if not parts:
        return None
    memory = grids[0].host_memory
    return Finding(
        "info",
        f"strided_fastest_{memory}",
        f"The fastest for sections of arrays in {memory_name(memory)}. {'. '.join(parts)}.",
    )


def _whole(cells: Sequence[StridedCell]) -> str:
    """Where the plain copy of everything is faster still, and what that costs."""
    faster = sum(WHOLE in cell.points and above(cell.points[WHOLE], cell.best) for cell in cells)
    if not faster:
        return ""
    return (
        f"; where what lies between the rows may be overwritten, {method_words(WHOLE, cells[0])} is faster at {faster}"
    )


def _by_sides(grids: Sequence[StridedGrid]) -> list[list[StridedGrid]]:
    """The grids of each direction and pair of layouts."""
    found: dict[tuple[str, str, str], list[StridedGrid]] = {}
    for grid in grids:
        found.setdefault((grid.direction, grid.host_layout, grid.device_layout), []).append(grid)
    return list(found.values())


def _by_layouts(grids: Sequence[StridedGrid]) -> list[list[StridedGrid]]:
    """Of each pair of layouts the grid with the most points of each direction."""
    found: dict[tuple[str, str], list[StridedGrid]] = {}
    for chosen in _by_sides(grids):
        grid = max(chosen, key=lambda each: len(each.measured))
        found.setdefault((grid.host_layout, grid.device_layout), []).append(grid)
    return list(found.values())


def _crossovers(run: Run, grids: Sequence[StridedGrid]) -> Finding | None:
    """Where something beats the driver's copy, for one pair of layouts."""
    parts = [f"{direction_words(grid.direction)}, {told}" for grid in grids if (told := _crossovers_of(run, grid))]
    if not parts:
        return None
    first = grids[0]
    side = _SIDES.get((first.host_layout, first.device_layout), "device")
    return Finding(
        "info",
        f"strided_crossovers_{side}",
        f"Where something beats the driver's 2-D copy of {memory_name(first.host_memory)}, {grid_words(first)}. "
        f"{'. '.join(parts)}.",
    )


def _crossovers_of(run: Run, grid: StridedGrid) -> str:
    """For the narrowest rows in their number, and for the most rows in their width."""
    known_within = run.settings.target_relative_half_width
    cell = next(iter(grid.measured.values()))
    rows = row_thresholds(grid, known_within)
    widths = width_thresholds(grid, known_within)
    told, never, unknown = [], [], []
    for method in STRIDED_CHALLENGERS:
        in_rows = min(_of(rows, method), key=lambda each: each.at, default=None)
        in_width = max(_of(widths, method), key=lambda each: each.at, default=None)
        answers = [each.threshold.state for each in (in_rows, in_width) if each]
        words = method_words(method, cell)
        if not answers:
            continue
        if set(answers) == {"never"}:
            never.append(words)
        elif _NO_ANSWER.issuperset(answers):
            unknown.append(words)
        else:
            wins = []
            if in_rows and in_rows.threshold.state not in _NO_ANSWER:
                wins.append(f"{rows_words(in_rows.threshold)} for rows of {format_bytes(in_rows.at)}")
            if in_width and in_width.threshold.state not in _NO_ANSWER:
                wins.append(f"for {in_width.at} rows {width_words(in_width.threshold)}")
            told.append(f"{words} {' and '.join(wins)}")
    told += [f"never in range: {', '.join(never)}"] if never else []
    told += [f"cannot tell: {', '.join(unknown)}"] if unknown else []
    return "; ".join(told)


def _of(thresholds: Sequence[StridedThreshold], method: str) -> list[StridedThreshold]:
    return [each for each in thresholds if each.method == method]


def _table(grids: Sequence[StridedGrid]) -> Finding | None:
    """How well a method can be looked up between the measured points."""
    spots = [spot for grid in grids for spot in held_out(grid.table)]
    if not spots:
        return None
    good = sum(spot.slowdown <= _WITHIN for spot in spots)
    worst = max(spots, key=lambda spot: spot.slowdown)
    return Finding(
        "info",
        "strided_table",
        f"Looked up between points twice as far apart as the measured ones, the method is within "
        f"{100 * (_WITHIN - 1):.0f} % of the fastest at {good} of {len(spots)} points; at worst it takes "
        f"{worst.slowdown:.2f} times as long ({worst.spot[1]:.0f} rows of {format_bytes(int(worst.spot[0]))}).",
        fix=""
        if good >= _ENOUGH * len(spots)
        else "Measure the widths in question with --sizes before a program chooses by this table.",
    )
