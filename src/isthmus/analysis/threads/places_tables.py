"""Several devices alone and at once, copies from device to device, and NUMA nodes against devices, as tables."""

from collections.abc import Sequence

from isthmus.analysis.figures import rate_cell
from isthmus.analysis.labels import DIRECTIONS, in_lines, kind_label, of_run
from isthmus.analysis.phrases import direction_word
from isthmus.analysis.threads.model import BLANK
from isthmus.analysis.threads.places import NodeRates, Together, TransferSetting, device_groups, node_rates, peer_rates
from isthmus.document.grid import Cell, Column, Grid, Group, Row, decimals, missing
from isthmus.document.pivot import columns_of, rows_of
from isthmus.document.section import Part
from isthmus.grouping import grouped
from isthmus.language import say
from isthmus.record import Interval, Run, format_bytes


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
