"""What grids of sections say: the fastest methods, where something beats the driver's 2-D copy, what it costs a row."""

from collections import Counter
from collections.abc import Sequence

from isthmus.analysis.phrases import link_rate, memory_name, spanned, way_name
from isthmus.analysis.pieces.method_table import held_out
from isthmus.analysis.statistics.contrast import above
from isthmus.analysis.strided.grid import StridedGrid
from isthmus.analysis.strided.model import WHOLE
from isthmus.analysis.strided.thresholds import StridedThreshold, row_cost, row_thresholds, width_thresholds
from isthmus.analysis.strided.words import grid_words, method_words, rows_words, sides_words, width_words
from isthmus.document.finding import Finding
from isthmus.language import enumerated, say, sentences
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
        say(
            "strided.row_cost_way",
            time=format_seconds(cost.seconds.median),
            way=way_name(grid.direction),
            sides=sides_words(grid.host_layout, grid.device_layout),
        )
        for grid, cost in costs
    ]
    grid, cost = costs[0]
    link = link_rate(run)
    least = min(each.seconds.median for _, each in costs)
    cause = ""
    if link and least * link >= 2 * cost.width_bytes:
        cause = say("strided.row_cost_cause", time=format_seconds(least), size=format_bytes(int(least * link)))
    return Finding(
        "info",
        "strided_row_cost",
        say(
            "strided.row_cost",
            width=format_bytes(cost.width_bytes),
            memory=memory_name(grid.host_memory),
            costs=enumerated(told),
            first=cost.first_rows,
            last=cost.last_rows,
        ),
        cause=cause,
    )


def _fastest(grids: Sequence[StridedGrid]) -> Finding | None:
    """How often, and for which widths, each method is the fastest, by what lies where."""
    ways = [_fastest_way(chosen) for chosen in _by_sides(grids)]
    if not ways:
        return None
    memory = grids[0].host_memory
    return Finding(
        "info",
        f"strided_fastest_{memory}",
        say("strided.fastest", memory=memory_name(memory), ways=sentences(ways)),
    )


def _fastest_way(grids: Sequence[StridedGrid]) -> str:
    """A sentence about the grids of one direction and pair of layouts."""
    cells = [cell for grid in grids for cell in grid.measured.values()]
    wins = Counter(cell.fastest for cell in cells)
    methods = []
    for method, points in wins.most_common(_MOST_NAMED):
        widths = sorted({cell.shape.width_bytes for cell in cells if cell.fastest == method})
        span = spanned(format_bytes(widths[0]), format_bytes(widths[-1]))
        words = method_words(method, cells[0])
        methods.append(say("strided.fastest_method", method=words, points=points, widths=span))
    if others := len(cells) - sum(points for _, points in wins.most_common(_MOST_NAMED)):
        methods.append(say("strided.fastest_others", points=others))
    first = grids[0]
    sides = sides_words(first.host_layout, first.device_layout)
    told = [
        say(
            "strided.fastest_way",
            way=way_name(first.direction),
            sides=sides,
            count=len(cells),
            methods=enumerated(methods),
        )
    ]
    if tied := sum(bool(cell.as_fast) for cell in cells):
        told.append(say("strided.fastest_tied", points=tied))
    # Where the plain copy of everything is faster still, and what that costs.
    if faster := sum(WHOLE in cell.points and above(cell.points[WHOLE], cell.best) for cell in cells):
        told.append(say("strided.fastest_whole", method=method_words(WHOLE, cells[0]), points=faster))
    return say("strided.sentence", text=say("common.between_statements").join(told))


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
    ways = [
        say("strided.crossovers_way", way=way_name(grid.direction), told=told)
        for grid in grids
        if (told := _crossovers_of(run, grid))
    ]
    if not ways:
        return None
    first = grids[0]
    side = _SIDES.get((first.host_layout, first.device_layout), "device")
    memory = memory_name(first.host_memory)
    return Finding(
        "info",
        f"strided_crossovers_{side}",
        say("strided.crossovers", memory=memory, grid=grid_words(first), ways=sentences(ways)),
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
            told.append(_crossover(words, _won(in_rows), _won(in_width)))
    comma = say("common.comma")
    told += [say("strided.crossover_never", methods=comma.join(never))] if never else []
    told += [say("strided.crossover_unknown", methods=comma.join(unknown))] if unknown else []
    return say("common.between_statements").join(told)


def _crossover(method: str, in_rows: StridedThreshold | None, in_width: StridedThreshold | None) -> str:
    """Where a method wins, in number of rows, in their width, or in both."""
    if in_rows and in_width:
        return say(
            "strided.crossover_both",
            method=method,
            answer=rows_words(in_rows.threshold),
            width=format_bytes(in_rows.at),
            rows=in_width.at,
            width_answer=width_words(in_width.threshold),
        )
    if in_rows:
        answer, width = rows_words(in_rows.threshold), format_bytes(in_rows.at)
        return say("strided.crossover_rows", method=method, answer=answer, width=width)
    if in_width:
        answer = width_words(in_width.threshold)
        return say("strided.crossover_width", method=method, rows=in_width.at, answer=answer)
    return ""


def _won(found: StridedThreshold | None) -> StridedThreshold | None:
    return found if found and found.threshold.state not in _NO_ANSWER else None


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
        say(
            "strided.table",
            percent=100 * (_WITHIN - 1),
            good=good,
            points=len(spots),
            slowdown=worst.slowdown,
            where=say("strided.rows", count=round(worst.spot[1]), width=format_bytes(int(worst.spot[0]))),
        ),
        fix="" if good >= _ENOUGH * len(spots) else say("strided.table_fix"),
    )
