"""Between devices at a glance: a line for each kind of path, with the slowest pair of each, and one of all links."""

from collections.abc import Sequence

from isthmus.analysis.figures import Figure, figure_cell
from isthmus.analysis.peers.cells import path_name
from isthmus.analysis.peers.model import Pair, accesses, copies_of, paths, whole
from isthmus.document.grid import Grid, Group, Row
from isthmus.document.pivot import columns_of
from isthmus.document.section import Glance
from isthmus.language import say
from isthmus.record import Run, format_bytes

_COLUMNS = (("peer", "copy_write"), ("peer", "copy_read"), ("both", "copy_write"), ("peer", "kernel_write"))


def glance(run: Run) -> Glance | None:
    """None where nothing between devices was measured."""
    by_kind = {(each.direction, each.method): each for way in ("peer", "both") for each in whole(run, way)}
    if not any(each.rates for each in by_kind.values()):
        return None
    by_path: dict[str, list[Pair]] = {}
    for pair, path in paths(run).items():
        by_path.setdefault(path_name(path), []).append(pair)
    times = accesses(run)
    columns = [column for column in _COLUMNS if column in by_kind]
    rows = []
    for name, pairs in by_path.items():
        cells = [figure_cell(_slowest([by_kind[column].pairs.get(pair) for pair in pairs])) for column in columns]
        cells.append(figure_cell(_slowest([times.get(pair) for pair in pairs]), "ns"))
        if all(cell.state in ("skipped", "missing") for cell in cells):
            continue
        rows.append(Row(say("peers_report.glance_row", path=name, count=len(pairs)), tuple(cells)))
    headings = [say(f"peers_report.glance_{direction}_{method}") for direction, method in columns]
    headings.append(say("peers_report.glance_access"))
    title = say("peers_report.glance", size=format_bytes(copies_of(run)[0].bytes))
    return Glance((Grid(title, columns_of(headings), (Group("", tuple(rows)),), say("peers_report.glance_corner")),))


def _slowest(figures: Sequence[Figure | None]) -> Figure | None:
    """What is wrong first, then the longest time; what was not measured last."""
    known = [figure for figure in figures if figure is not None]
    wrong = [figure for figure in known if figure.is_wrong]
    timed = [figure for figure in known if figure.seconds]
    if wrong or not timed:
        return next(iter(wrong or known), None)
    return max(timed, key=lambda figure: figure.seconds.median if figure.seconds else 0.0)
