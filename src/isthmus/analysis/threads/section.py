"""The section on threads: many host threads that copy one buffer, several devices at once, and NUMA nodes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from isthmus.analysis.figures import brief_rate, cell_of, legend_of, link_rules, rate_cell, rate_rows
from isthmus.analysis.labels import (
    DIRECTIONS,
    Source,
    direction_title,
    in_lines,
    kind_label,
    of_run,
    run_label,
    sources,
)
from isthmus.analysis.phrases import direction_name, direction_word, link_rate
from isthmus.analysis.published.source import Measured, Series
from isthmus.analysis.published.table import published_parts
from isthmus.analysis.statistics.curve import ONE_WAY
from isthmus.analysis.threads.gain import enough_threads
from isthmus.analysis.threads.model import (
    BLANK,
    REFERENCE_BYTES,
    ThreadCurve,
    mode_look,
    mode_name,
    most_complete,
    reference_bytes,
    thread_curves,
    threads_label,
)
from isthmus.analysis.threads.places import NodeRates, Together, TransferSetting, device_groups, node_rates, peer_rates
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.grid import Cell, Column, Grid, Group, Row, decimals, missing, spread
from isthmus.document.pivot import columns_of, rows_of
from isthmus.document.section import Chart, Glance, Part, Section, section_of
from isthmus.grouping import grouped
from isthmus.language import say
from isthmus.record import Interval, Run, format_bytes, kind_rank

# Numbers of threads on a first screen.
_MOST = 6
# Curves of one direction and size.
_Curves = Sequence[Source[ThreadCurve]]


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of threads; None where that is nothing but skips."""
    parts = [*rate_parts(runs), *place_parts(runs), *published_parts(runs, "threads", _slices_of_workers)]
    return section_of("threads", parts)


def glance(run: Run) -> Glance | None:
    """Rates by number of threads, one direction at a time, of one size; None where no threads were measured."""
    curves = [curve for curve in thread_curves(run) if curve.points and curve.direction in ONE_WAY]
    size = reference_bytes(curves)
    if size is None:
        return None
    subjects = grouped((curve for curve in curves if curve.bytes == size), lambda curve: curve.subject)
    chosen = [most_complete(same) for same in subjects.values()]
    counts = sorted({count for curve in chosen for count in curve.points})
    shown = (counts[at] for at in spread(len(counts), _MOST))
    rows = rows_of(shown, str, chosen, lambda curve, count: brief_rate(curve.points.get(count)))
    kinds = ((kind_label(curve.host_memory), direction_name(curve.direction)) for curve in chosen)
    columns = tuple(Column("\n".join(each), each[0]) for each in kinds)
    title = say("threads_report.glance", size=format_bytes(size))
    return Glance((Grid(title, columns, (Group("", rows),), say("threads_report.corner_threads")),))


def _slices_of_workers(run: Run, series: Series) -> Mapping[int, Measured]:
    """Rates by number of threads that are kept, each with one slice, of the use of streams with the most numbers."""
    wanted = tuple(series.case[name] for name in ("host_memory", "direction", "bytes"))
    curves = [
        curve
        for curve in thread_curves(run)
        if curve.subject == wanted and (curve.method, curve.slicing) == ("workers", "slices") and curve.points
    ]
    points = most_complete(curves).points if curves else {}
    return {count: Measured(point.rate, not point.converged) for count, point in points.items()}


def rate_parts(runs: Sequence[Run]) -> list[Part]:
    """A part for each size: the one to conclude about first, then the others."""
    by_size = grouped(sources(runs, thread_curves), lambda each: each.value.bytes)
    parts = [_part(size, by_size[size]) for size in sorted(by_size, key=lambda size: (size != REFERENCE_BYTES, size))]
    return [replace(part, note=say("threads_report.rates_note")) for part in parts[:1]] + parts[1:]


def _part(size: int, curves: _Curves) -> Part:
    by_direction = grouped(curves, lambda each: each.value.direction)
    along = [by_direction[direction] for direction in DIRECTIONS if direction in by_direction]
    return Part(
        title=say("threads_report.rates", size=format_bytes(size)),
        charts=tuple(drawn for of_direction in along for drawn in _charts(of_direction)),
        legend=legend_of({mode_name(each.value): mode_look(each.value) for each in sorted(curves, key=_place)}),
        grids=tuple(_grid(size, of_direction) for of_direction in along),
    )


def _charts(curves: _Curves) -> Iterator[Chart]:
    """One for each kind of memory and run, all on one scale."""
    measured = [(count, each.measured) for of in curves for count, each in of.value.figures.items() if each.measured]
    rates = [point.rate.median for _, point in measured]
    limits = [limit for each in curves if (limit := _limit(each))]
    counts = [count for count, _ in measured]
    threads = Axis(say("threads_report.threads_axis"), (min(counts), max(counts)))
    rate = Axis("GB/s", (min(rates) / 1.5e9, max([*rates, *limits]) * 1.6e-9))
    in_order = sorted(curves, key=lambda each: (kind_rank(each.value.host_memory), each.index))
    for (kind, _), chosen in grouped(in_order, lambda each: (each.value.host_memory, each.index)).items():
        first = chosen[0]
        title = say("common.comma").join([direction_title(first.value.direction), kind_label(kind)])
        rules = link_rules(first.run, both=first.value.direction == "both")
        spec = curves_chart([_drawn(each.value) for each in chosen], threads, rate, rules=rules)
        title = first.titled(title)
        yield Chart(title, say("threads_report.rates_label", title=title), spec)


def _limit(source: Source[ThreadCurve]) -> float | None:
    return link_rate(source.run, both=source.value.direction == "both")


def _drawn(curve: ThreadCurve) -> Drawn:
    wrong = {count: each.measured for count, each in curve.figures.items() if each.measured and not each.point}
    rows, failed = (
        rate_rows(mode_name(curve), points, lambda count: {"threads": threads_label(curve.direction, count)})
        for points in (curve.points, wrong)
    )
    return Drawn(mode_name(curve), mode_look(curve), rows, failed)


def _grid(size: int, curves: _Curves) -> Grid:
    """Threads down, methods to divide the transfer across, a group for each kind of memory."""
    direction = curves[0].value.direction
    places = {_place(each): each for each in sorted(curves, key=_place)}
    shown = sorted({each.index for each in curves if link_rate(each.run)})
    named = [(mode_name(each.value), each.index) for each in places.values()]
    named += [(say("threads_report.best"), index) for index in shown]
    columns = [Column(in_lines(name), name, run_label(curves[0].runs, index)) for name, index in named]
    groups = []
    by_kind = grouped(curves, lambda each: each.value.host_memory)
    for kind in sorted(by_kind, key=kind_rank):
        chosen = {_place(each): each for each in by_kind[kind]}
        ordered = [chosen.get(place) for place in places]
        rows = [
            Row(
                threads_label(direction, count),
                (
                    *(cell_of(each.value.figures.get(count) if each else None, rate_cell) for each in ordered),
                    *(_best_share([each for each in chosen.values() if each.index == index], count) for index in shown),
                ),
            )
            for count in sorted({count for each in chosen.values() for count in each.value.figures})
        ]
        enough = (_enough(each.value if each else None) for each in ordered)
        rows.append(Row(say("threads_report.enough"), (*enough, *(BLANK for _ in shown))))
        groups.append(Group(say("common.comma").join([kind_label(kind), "GB/s"]), tuple(rows)))
    title = say("common.comma").join([format_bytes(size), direction_title(direction)])
    return Grid(title, tuple(columns), tuple(groups), corner=say("threads_report.corner_threads"))


def _place(source: Source[ThreadCurve]) -> tuple[bool, bool, bool, int]:
    """Place of a column: the plainest method first, created threads last, runs side by side."""
    curve = source.value
    return curve.method == "spawn", curve.slicing == "chunks", curve.streams == "own", source.index


def _best_share(curves: _Curves, count: int) -> Cell:
    rates = [each.value.points[count].rate.median for each in curves if count in each.value.points]
    limit = _limit(curves[0]) if curves else None
    return Cell(f"{100 * max(rates) / limit:.0f} %") if rates and limit else missing()


def _enough(curve: ThreadCurve | None) -> Cell:
    if curve is None or 1 not in curve.points or len(curve.points) < 2:
        return BLANK
    return Cell(threads_label(curve.direction, enough_threads(curve.points)))


def place_parts(runs: Sequence[Run]) -> list[Part]:
    """The parts that any of the runs has rows for; each run's devices and nodes are its own, so are its tables."""
    devices: list[Grid] = []
    peers: list[Grid] = []
    nodes: list[Grid] = []
    for index, run in enumerate(runs):
        by_count = grouped(device_groups(run), lambda group: group.devices)
        rates = node_rates(run)
        for grids, of_one in (
            (devices, [_device_grid(by_count[count]) for count in sorted(by_count)]),
            (peers, _peer_grids(run)),
            (nodes, [_node_grid(rates)] if rates else []),
        ):
            grids += [each.titled(of_run(each.title, runs, index)) for each in of_one]
    parts = [
        Part(say("threads_report.devices"), say("threads_report.devices_note"), grids=tuple(devices)),
        Part(say("threads_report.peers"), grids=tuple(peers)),
        Part(say("threads_report.nodes"), say("threads_report.nodes_note"), grids=tuple(nodes)),
    ]
    return [part for part in parts if part.grids]


def _device_grid(groups: Sequence[Together]) -> Grid:
    """Devices down, in each direction's rates alone and together across; a group for each kind of memory and size."""
    directions = [direction for direction in DIRECTIONS if any(group.direction == direction for group in groups)]
    columns = columns_of(
        f"{direction_word(direction)}\n{heading}"
        for direction in directions
        for heading in (say("threads_report.alone"), say("threads_report.at_once"), say("threads_report.slower"))
    )
    settings = grouped(groups, lambda group: group.setting)
    made = []
    for setting, alike in settings.items():
        ordered = [{str(group.direction): group for group in alike}.get(direction) for direction in directions]
        names = sorted({name for group in alike for name in (*group.alone, *group.together)})
        rows = [Row(name, tuple(cell for group in ordered for cell in _device_cells(group, name))) for name in names]
        rows.append(Row(say("threads_report.all"), tuple(cell for group in ordered for cell in _sum_cells(group))))
        made.append(Group(_setting_words(setting, list(settings)), tuple(rows)))
    title = say("threads_report.devices_grid", count=groups[0].devices)
    return Grid(title, columns, tuple(made), corner=say("threads_report.corner_device"))


def _device_cells(group: Together | None, device: str) -> tuple[Cell, Cell, Cell]:
    if group is None:
        return missing(), missing(), missing()
    factor = group.slowdown(device)
    return rate_cell(group.alone.get(device)), rate_cell(group.together.get(device)), _factor_cell(factor)


def _sum_cells(group: Together | None) -> tuple[Cell, Cell, Cell]:
    if group is None:
        return missing(), missing(), missing()
    alone = sum(point.rate.median for point in group.alone.values()) * 1e-9
    complete = len(group.alone) == group.devices
    share = group.share
    return (
        Cell(f"{alone:.{decimals(alone)}f}") if complete else missing(),
        rate_cell(group.all),
        _factor_cell(Interval(1 / share.median, 1 / share.high, 1 / share.low) if share else None),
    )


def _factor_cell(factor: Interval | None) -> Cell:
    if factor is None:
        return missing()
    return Cell(
        f"{factor.median:.2f}", detail=say("common.times_range", low=f"{factor.low:.3f}", high=f"{factor.high:.3f}")
    )


def _setting_words(setting: TransferSetting, others: Sequence[TransferSetting]) -> str:
    """Kind and size, and what else distinguishes it from the others."""
    words = [kind_label(setting.host_memory), format_bytes(setting.bytes)]
    if len({other.threads for other in others}) > 1:
        words.append(say("overlap.threads", count=setting.threads))
    if len({other.streams for other in others}) > 1:
        words.append(say("overlap.streams", count=setting.streams))
    if len({other.pieces for other in others}) > 1:
        pieces = setting.pieces
        words.append(say("overlap.chunks", count=pieces) if pieces else say("threads_report.slicing_slices"))
    return say("common.comma").join([*words, "GB/s"])


def _peer_grids(run: Run) -> list[Grid]:
    """One matrix for each size."""
    by_size = grouped(peer_rates(run), lambda rate: rate.bytes)
    grids = []
    for size in sorted(by_size):
        points = {(rate.destination, rate.source): rate.point for rate in by_size[size]}
        to, origins = (sorted({pair[end] for pair in points}) for end in (0, 1))
        rows = rows_of(origins, str, to, lambda *pair, of=points: rate_cell(of.get(pair)))
        columns = tuple(
            Column(in_lines(name), name) for name in (say("threads_report.to", device=device) for device in to)
        )
        title = say("threads_report.peers_grid", size=format_bytes(size))
        grids.append(Grid(title, columns, (Group("GB/s", rows),), corner=say("threads_report.corner_from")))
    return grids


def _node_grid(rates: Sequence[NodeRates]) -> Grid:
    """Nodes down, devices and directions across; a group for each kind of memory and size."""
    directions = [direction for direction in DIRECTIONS if any(rate.direction == direction for rate in rates)]
    across = [(device, direction) for device in sorted({rate.device for rate in rates}) for direction in directions]
    settings = grouped(rates, lambda rate: rate.setting)
    groups = []
    for setting, alike in settings.items():
        by_place = {(rate.device, str(rate.direction)): rate for rate in alike}
        ordered = [by_place.get(each) for each in across]
        nodes = sorted({node for rate in alike for node in rate.nodes})
        rows = rows_of(nodes, str, ordered, lambda rate, node: rate_cell(rate.nodes.get(node)) if rate else missing())
        rows = (*rows, Row(say("threads_report.slower"), tuple(map(_worst, ordered))))
        groups.append(Group(_setting_words(setting, list(settings)), rows))
    columns = columns_of(f"{device}\n{direction_word(direction)}" for device, direction in across)
    return Grid(say("threads_report.nodes_grid"), columns, tuple(groups), say("threads_report.corner_node"))


def _worst(rate: NodeRates | None) -> Cell:
    if rate is None:
        return BLANK
    return _factor_cell(max((rate.loss(node) for node in rate.nodes), key=lambda loss: loss.median))
