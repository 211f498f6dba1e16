"""What hosts' links give at once: each device alone, those below one root port, and all, as rates and as a table."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from isthmus.analysis.figures import Figure, figure_cell, figures
from isthmus.analysis.peers.model import specs_of
from isthmus.analysis.phrases import direction_word
from isthmus.document.grid import Cell, Grid, Group, Row, missing
from isthmus.document.pivot import columns_of
from isthmus.language import say
from isthmus.record import Run, format_bytes

_WAYS = ("h2d", "d2h", "both")


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
