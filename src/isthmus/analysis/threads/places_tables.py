"""Several devices alone and at once, copies from device to device, and NUMA nodes against devices, as tables."""

from collections.abc import Sequence
from dataclasses import replace

from isthmus.analysis.labels import DIRECTIONS, in_lines, kind_label, run_title
from isthmus.analysis.phrases import way_word
from isthmus.analysis.threads.labels import BLANK
from isthmus.analysis.threads.places import NodeRates, Together, TransferSetting, device_groups, node_rates, peer_rates
from isthmus.analysis.threads.rates import point_cell
from isthmus.document.grid import Cell, Column, Grid, Group, Row, decimals, missing
from isthmus.document.section import Part
from isthmus.language import say
from isthmus.record import Interval, Run, format_bytes


def place_parts(runs: Sequence[Run]) -> list[Part]:
    """The parts that any of the runs has rows for; each run's devices and nodes are its own, so are its tables."""
    devices: list[Grid] = []
    peers: list[Grid] = []
    nodes: list[Grid] = []
    for index, run in enumerate(runs):
        of_run = f": {run_title(runs, index)}" if len(runs) > 1 else ""
        groups = device_groups(run)
        counts = sorted({group.devices for group in groups})
        devices += [_device_grid([group for group in groups if group.devices == count], of_run) for count in counts]
        peers += _peer_grids(run, of_run)
        rates = node_rates(run)
        nodes += [_node_grid(rates, of_run)] if rates else []
    parts = [
        Part(say("threads_report.devices"), say("threads_report.devices_note"), grids=tuple(devices)),
        Part(say("threads_report.peers"), grids=tuple(peers)),
        Part(say("threads_report.nodes"), say("threads_report.nodes_note"), grids=tuple(nodes)),
    ]
    return [part for part in parts if part.grids]


def _device_grid(groups: Sequence[Together], of_run: str) -> Grid:
    """Devices down, in each direction's rates alone and together across; a group for each kind of memory and size."""
    directions = [
        direction for direction in DIRECTIONS if any(group.setting.direction == direction for group in groups)
    ]
    columns = [
        Column(f"{way_word(direction)}\n{heading}", f"{way_word(direction)} {heading}")
        for direction in directions
        for heading in (say("threads_report.alone"), say("threads_report.at_once"), say("threads_report.slower"))
    ]
    settings = dict.fromkeys(_undirected(group.setting) for group in groups)
    made = []
    for setting in settings:
        by_device: dict[str, Together] = {
            group.setting.direction: group for group in groups if _undirected(group.setting) == setting
        }
        by_way = [by_device.get(direction) for direction in directions]
        names = sorted({name for group in by_way if group for name in (*group.alone, *group.together)})
        rows = [Row(name, tuple(cell for group in by_way for cell in _device_cells(group, name))) for name in names]
        rows.append(Row(say("threads_report.all"), tuple(cell for group in by_way for cell in _sum_cells(group))))
        made.append(Group(_setting_words(setting, list(settings)), tuple(rows)))
    title = say("threads_report.devices_grid", count=groups[0].devices) + of_run
    return Grid(title, tuple(columns), tuple(made), corner=say("threads_report.corner_device"))


def _device_cells(group: Together | None, device: str) -> tuple[Cell, Cell, Cell]:
    if group is None:
        return missing(), missing(), missing()
    factor = group.slowdown(device)
    return point_cell(group.alone.get(device)), point_cell(group.together.get(device)), _factor_cell(factor)


def _sum_cells(group: Together | None) -> tuple[Cell, Cell, Cell]:
    if group is None:
        return missing(), missing(), missing()
    alone = sum(point.rate.median for point in group.alone.values())
    complete = len(group.alone) == group.devices
    share = group.share
    return (
        Cell(f"{alone * 1e-9:.{decimals(alone * 1e-9)}f}") if complete else missing(),
        point_cell(group.all),
        _factor_cell(Interval(1 / share.median, 1 / share.high, 1 / share.low)) if share else missing(),
    )


def _factor_cell(factor: Interval | None) -> Cell:
    if factor is None:
        return missing()
    return Cell(
        f"{factor.median:.2f}", detail=say("common.times_range", low=f"{factor.low:.3f}", high=f"{factor.high:.3f}")
    )


def _undirected(setting: TransferSetting) -> TransferSetting:
    """All of a setting but its direction, which the columns of a table have."""
    return replace(setting, direction="h2d")


def _setting_words(setting: TransferSetting, others: Sequence[TransferSetting]) -> str:
    """Kind and size, and what else tells it from the others."""
    words = [kind_label(setting.host_memory), format_bytes(setting.bytes)]
    if len({other.threads for other in others}) > 1:
        words.append(say("overlap.threads", count=setting.threads))
    if len({other.streams for other in others}) > 1:
        words.append(say("overlap.streams", count=setting.streams))
    if len({other.pieces for other in others}) > 1:
        pieces = setting.pieces
        words.append(say("overlap.chunks", count=pieces) if pieces else say("threads_report.slicing_slices"))
    return say("common.comma").join([*words, "GB/s"])


def _peer_grids(run: Run, of_run: str) -> list[Grid]:
    """One matrix for each size."""
    rates = peer_rates(run)
    grids = []
    for size in sorted({rate.bytes for rate in rates}):
        points = {(rate.source, rate.destination): rate.point for rate in rates if rate.bytes == size}
        sources = sorted({source for source, _ in points})
        destinations = sorted({destination for _, destination in points})
        rows = [Row(source, tuple(point_cell(points.get((source, to))) for to in destinations)) for source in sources]
        names = [say("threads_report.to", device=to) for to in destinations]
        columns = tuple(Column(in_lines(name), name) for name in names)
        title = say("threads_report.peers_grid", size=format_bytes(size)) + of_run
        grids.append(Grid(title, columns, (Group("GB/s", tuple(rows)),), corner=say("threads_report.corner_from")))
    return grids


def _node_grid(rates: Sequence[NodeRates], of_run: str) -> Grid:
    """Nodes down, devices and directions across; a group for each kind of memory and size."""
    devices = sorted({rate.device for rate in rates})
    directions = [direction for direction in DIRECTIONS if any(rate.setting.direction == direction for rate in rates)]
    across = [(device, direction) for device in devices for direction in directions]
    settings = dict.fromkeys(_undirected(rate.setting) for rate in rates)
    groups = []
    for setting in settings:
        by_node: dict[tuple[str, str], NodeRates] = {
            (rate.device, rate.setting.direction): rate for rate in rates if _undirected(rate.setting) == setting
        }
        nodes = sorted({node for rate in by_node.values() for node in rate.nodes})
        ordered = [by_node.get(each) for each in across]
        rows = [
            Row(str(node), tuple(point_cell(rate.nodes.get(node)) if rate else missing() for rate in ordered))
            for node in nodes
        ]
        rows.append(Row(say("threads_report.slower"), tuple(_worst(rate) for rate in ordered)))
        groups.append(Group(_setting_words(setting, list(settings)), tuple(rows)))
    columns = tuple(
        Column(f"{device}\n{way_word(direction)}", f"{device} {way_word(direction)}") for device, direction in across
    )
    title, corner = say("threads_report.nodes_grid") + of_run, say("threads_report.corner_node")
    return Grid(title, columns, tuple(groups), corner=corner)


def _worst(rate: NodeRates | None) -> Cell:
    if rate is None:
        return BLANK
    return _factor_cell(max((rate.loss(node) for node in rate.nodes), key=lambda loss: loss.median))
