"""The figures of a run between devices, as matrices: from each device to each other one."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from isthmus.analysis.figures import Figure, figure_cell, figures
from isthmus.analysis.phrases import direction_word
from isthmus.document.grid import Cell, Grid, Group, Row, missing
from isthmus.document.pivot import columns_of
from isthmus.language import say
from isthmus.record import Interval, Run, format_bytes

# As nvbandwidth's tests end: _write_ce, _read_ce, _write_sm, _read_sm.
METHODS = ("copy_write", "copy_read", "kernel_write", "kernel_read")
DIRECTIONS = ("peer", "both")
Pair = tuple[str, str]
Kind: TypeAlias = Literal["all_pairs", "to_all", "to_one"]
_WAYS = ("h2d", "d2h", "both")


class Copies(NamedTuple):
    """Copies of one size, method and direction between devices; those in both directions count for either order."""

    method: str
    direction: str
    bytes: int
    pairs: Mapping[Pair, Figure]

    @property
    def rates(self) -> Mapping[Pair, Interval]:
        """The rates that were measured."""
        return {pair: figure.rate for pair, figure in self.pairs.items() if figure.rate}


class AtOnce(NamedTuple):
    """Copies between one device and all others at once, or of all pairs; the sums by method and device."""

    kind: Kind
    devices: int
    bytes: int
    figures: Mapping[tuple[str, str], Figure]


def specs_of(names: Iterable[str]) -> list[str]:
    """Devices in the order of their numbers."""
    return sorted(set(names), key=lambda spec: (len(spec), spec))


def paths(run: Run) -> dict[Pair, str]:
    """By what each pair is joined, as `Case.path` has it; empty where that is not known."""
    by_pair: dict[Pair, str] = {}
    for case in run.cases:
        if case.experiment == "peers" and case.target and case.peer:
            by_pair[case.target, case.peer] = by_pair.get((case.target, case.peer)) or case.path
            if case.direction == "both":
                by_pair[case.peer, case.target] = by_pair.get((case.peer, case.target)) or case.path
    return by_pair


def copies_of(run: Run) -> list[Copies]:
    """A matrix for each method, direction and size; the largest size of a direction first."""
    groups: dict[tuple[str, str, int], dict[Pair, Figure]] = {}
    for figure in figures(run, "peers"):
        case = figure.case
        # Those of two devices at work are one direction of both each.
        if case.method in METHODS and case.direction and case.target and case.peer and case.devices is None:
            pairs = groups.setdefault((case.method, case.direction, case.bytes), {})
            pairs[case.target, case.peer] = figure
            if case.direction == "both":
                pairs[case.peer, case.target] = figure
    all_copies = [Copies(*key, pairs) for key, pairs in groups.items()]
    return sorted(
        all_copies, key=lambda each: (DIRECTIONS.index(each.direction), -each.bytes, METHODS.index(each.method))
    )


def whole(run: Run, direction: str) -> list[Copies]:
    """The matrices of the largest size of a direction, by method."""
    of_direction = [each for each in copies_of(run) if each.direction == direction]
    return [each for each in of_direction if each.bytes == of_direction[0].bytes]


def at_once(run: Run) -> list[AtOnce]:
    """All pairs, one to all, then all to one, of the largest size; the device of all pairs is empty."""
    groups: dict[tuple[Kind, int, int], dict[tuple[str, str], Figure]] = {}
    for figure in figures(run, "peers"):
        case = figure.case
        if case.method in METHODS and case.direction == "peer" and case.devices and not (case.target and case.peer):
            kind: Kind = "to_all" if case.target else "to_one"
            sums = groups.setdefault((kind if case.target or case.peer else "all_pairs", case.devices, case.bytes), {})
            sums[case.method, case.target or case.peer] = figure
    return [AtOnce(*key, groups[key]) for key in sorted(groups)]


def accesses(run: Run) -> dict[Pair, Figure]:
    """What one access of the first device to the other's memory takes; `latency`'s where there are no others."""
    return {
        (figure.case.target, figure.case.peer): figure
        for experiment in ("latency", "peers")
        for figure in figures(run, experiment)
        if figure.case.method == "access" and figure.case.target and figure.case.peer
    }


def path_name(path: str) -> str:
    """``NV18``, ``NVLink``, ``PIX``, ``PCIe``, ``host``, ``peer``: as nvidia-smi topo -m has it, if it does."""
    kind, _, detail = path.partition(" ")
    if kind == "nvlink":
        return f"NV{detail}" if detail else "NVLink"
    if kind == "pcie":
        return detail or "PCIe"
    return say(f"peers_report.path_{kind}") if kind in ("host", "peer") else "-"


def path_cell(path: str) -> Cell:
    """By what a pair is joined, with how near the devices are where copies go by the host's memory."""
    kind, _, detail = path.partition(" ")
    if not kind:
        return missing(say("peers_report.path_unknown"))
    return Cell(path_name(path), detail=detail if kind in ("host", "peer") else "")


class Together(NamedTuple):
    """Devices at work at once, below the root port or all of them: by direction the sum, and what each has alone."""

    port: str
    specs: Sequence[str]
    bytes: int
    sums: Mapping[str, Figure]
    alone: Mapping[tuple[str, str], Figure]  # by device and direction

    def share(self, direction: str) -> float | None:
        """The sum over what the devices have alone, added up; None where one of them is not known."""
        total = self.sums[direction].rate if direction in self.sums else None
        each = [figure.rate for spec in self.specs if (figure := self.alone.get((spec, direction)))]
        if total is None or len(each) != len(self.specs) or not all(each):
            return None
        return total.median / sum(rate.median for rate in each if rate)


def together(run: Run) -> list[Together]:
    """Every root port that several devices are below, then all devices; none where that was not measured."""
    links = [figure for figure in figures(run, "peers") if figure.case.method == "link" and figure.case.direction]
    alone = {(each.case.target, str(each.case.direction)): each for each in links if each.case.devices == 1}
    groups = []
    for port in sorted({each.case.neighbour for each in links}, key=lambda port: (not port, port)):
        group = [each for each in links if each.case.neighbour == port and (each.case.devices or 0) > 1]
        of_all = {str(each.case.direction): each for each in group if not each.case.target}
        sums = {direction: of_all[direction] for direction in _WAYS if direction in of_all}
        specs = specs_of(each.case.target for each in group if each.case.target) or specs_of(spec for spec, _ in alone)
        if sums:
            groups.append(Together(port, specs, group[0].case.bytes, sums, alone))
    return groups


def link_grid(run: Run) -> Grid | None:
    """Devices alone, then sums; a pair of columns for each direction: the rate, and its share of the rates alone."""
    groups = together(run)
    if not groups:
        return None
    directions = [direction for direction in _WAYS if any(direction in group.sums for group in groups)]
    alone = groups[0].alone
    rows = [
        Row(
            spec,
            tuple(cell for direction in directions for cell in (figure_cell(alone.get((spec, direction))), Cell(""))),
        )
        for spec in specs_of(spec for spec, _ in alone)
    ]
    for group in groups:
        cells = [
            cell
            for direction in directions
            for cell in (figure_cell(group.sums.get(direction)), _share_cell(group, direction))
        ]
        rows.append(Row(group_name(group), tuple(cells)))
    columns = columns_of(
        f"{direction_word(direction)}\n{heading}"
        for direction in directions
        for heading in ("GB/s", say("peers_report.share"))
    )
    title = say("peers_report.grid_links", size=format_bytes(groups[0].bytes))
    return Grid(title, columns, (Group("", tuple(rows)),), say("peers_report.corner_links"))


def group_name(group: Together) -> str:
    """``all 8``, ``2 below 0000:16:01.0``."""
    if group.port:
        return say("peers_report.below", count=len(group.specs), port=group.port)
    return say("peers_report.all", count=len(group.specs))


def _share_cell(group: Together, direction: str) -> Cell:
    share = group.share(direction)
    return missing() if share is None else Cell(f"{100 * share:.0f} %")
