"""What creating threads for each transfer adds: seconds against their number, and its share of the transfer."""

from collections.abc import Mapping, Sequence

from isthmus.analysis.labels import kind_label, run_label, run_title
from isthmus.analysis.threads.labels import direction_word, mode_name
from isthmus.analysis.threads.model import REFERENCE_BYTES, thread_curves
from isthmus.analysis.threads.spawn import SpawnCost, spawn_costs, spawn_fit
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.grid import Cell, Column, Grid, Group, Row, decimals
from isthmus.document.palette import Look, numbered_look
from isthmus.document.section import Chart, LegendEntry, Part
from isthmus.document.states import missing
from isthmus.language import say, sentences
from isthmus.record import Interval, Run, format_bytes, format_seconds

__all__ = ["created_part"]


def created_part(runs: Sequence[Run]) -> Part | None:
    """Charts and tables of the costs; None where created threads were not measured beside persistent ones."""
    costs = {index: found for index, run in enumerate(runs) if (found := spawn_costs(thread_curves(run)))}
    if not costs:
        return None
    looks = _looks(costs)
    notes = [say("threads_report.created_note")]
    notes += [f"{run_label(runs, index)}: {text}".lstrip(": ") for index, each in costs.items() if (text := _fit(each))]
    return Part(
        title=say("threads_report.created_part"),
        note=sentences(notes),
        charts=tuple(
            Chart(
                say("threads_report.created_chart", size=format_bytes(_first_size(each))) + _of_run(runs, index),
                say("threads_report.created_label"),
                _chart(each, looks),
            )
            for index, each in costs.items()
        ),
        legend=tuple(LegendEntry(name, look) for name, look in looks.items()),
        grids=tuple(_grid(each, _of_run(runs, index)) for index, each in costs.items()),
    )


def _of_run(runs: Sequence[Run], index: int) -> str:
    return f": {run_title(runs, index)}" if len(runs) > 1 else ""


def _fit(costs: Sequence[SpawnCost]) -> str:
    fit = spawn_fit(costs)
    if fit is None:
        return ""
    per_thread, fixed = _span(fit.per_thread), _span(fit.fixed)
    return say("threads_report.created_line", transfers=len(costs), per_thread=per_thread, fixed=fixed)


def _span(seconds: Interval) -> str:
    """A time with its interval, which may reach below zero."""
    median, low, high = (f"{'-' if value < 0 else ''}{format_seconds(abs(value))}" for value in seconds)
    return say("threads.time_span", time=median, span=say("common.range", low=low, high=high))


def _looks(costs: Mapping[int, Sequence[SpawnCost]]) -> dict[str, Look]:
    names = list(dict.fromkeys(_name(cost, each) for each in costs.values() for cost in each))
    return {name: numbered_look(index) for index, name in enumerate([*names, _line()])}


def _line() -> str:
    return say("threads_report.line")


def _name(cost: SpawnCost, costs: Sequence[SpawnCost]) -> str:
    """Memory kind and direction, and the way to divide the work where there are several."""
    curve = cost.curve
    several = len({(each.curve.slicing, each.curve.streams) for each in costs}) > 1
    named = f"{kind_label(curve.host_memory)} {direction_word(curve.direction)}"
    return say("common.comma").join([named, mode_name(curve)]) if several else named


def _first_size(costs: Sequence[SpawnCost]) -> int:
    sizes = {cost.curve.bytes for cost in costs}
    return REFERENCE_BYTES if REFERENCE_BYTES in sizes else max(sizes)


def _chart(costs: Sequence[SpawnCost], looks: Mapping[str, Look]) -> chart.Spec:
    """Of the size to conclude about first: in longer transfers their own variation hides the cost."""
    size = _first_size(costs)
    rows: dict[str, list[chart.Row]] = {}
    for cost in costs:
        if cost.curve.bytes == size:
            name = _name(cost, costs)
            rows.setdefault(name, []).append(_drawn_row(name, cost))
    drawn = [Drawn(name, looks[name], tuple(each)) for name, each in rows.items()]
    fit = spawn_fit(costs)
    if fit:
        ends = sorted({cost.created for cost in costs})
        seconds = {count: fit.fixed.median + fit.per_thread.median * count for count in (ends[0], ends[-1])}
        name = _line()
        line = [chart.row(name, count, *[each * 1e3] * 3) for count, each in seconds.items()]
        drawn.append(Drawn(name, looks[name], tuple(line)))
    across = Axis(say("threads_report.created_axis"), scale="linear")
    return curves_chart(drawn, across, Axis(say("threads_report.added_axis"), scale="linear"))


def _drawn_row(name: str, cost: SpawnCost) -> chart.Row:
    median, low, high = (value * 1e3 for value in cost.seconds)
    return chart.row(
        name, cost.created, median, low, high, threads=str(cost.created), added=_span(cost.seconds), share=_share(cost)
    )


def _share(cost: SpawnCost) -> str:
    return f"{100 * cost.share.median:.1f} %"


def _grid(costs: Sequence[SpawnCost], title: str) -> Grid:
    """Threads down, kinds and directions across, a group for the seconds and one for the shares of each size."""
    names = list(dict.fromkeys(_name(cost, costs) for cost in costs))
    comma = say("common.comma")
    columns = tuple(Column(name.replace(" ", "\n", 1).replace(comma, "\n"), name) for name in names)
    groups = []
    for size in sorted({cost.curve.bytes for cost in costs}, key=lambda size: (size != _first_size(costs), size)):
        found = {(_name(cost, costs), cost.threads): cost for cost in costs if cost.curve.bytes == size}
        counts = sorted({threads for _, threads in found})
        units = [("threads_report.group_added", 1e6)]
        if all(cost.share_tells for cost in found.values()):
            units.append(("threads_report.group_share", 100.0))
        for unit, scale in units:
            rows = tuple(
                Row(str(count), tuple(_cell(found.get((name, count)), scale) for name in names)) for count in counts
            )
            groups.append(Group(say(unit, size=format_bytes(size)), rows))
    title, corner = say("threads_report.created_grid") + title, say("threads_report.corner_threads")
    return Grid(title, columns, tuple(groups), corner=corner)


def _cell(cost: SpawnCost | None, scale: float) -> Cell:
    if cost is None:
        return missing()
    interval = cost.share if scale == 100.0 else cost.seconds
    median, half = interval.median * scale, (interval.high - interval.low) / 2 * scale
    # A difference can be negative, and its interval wider than itself.
    digits = min(decimals(max(abs(median), half)), 2)
    detail = say("threads_report.created_detail", count=cost.created, time=_span(cost.seconds), share=_share(cost))
    return Cell(f"{median:.{digits}f}", f"{half:.{digits}f}", detail=detail)
