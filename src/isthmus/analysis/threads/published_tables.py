"""The figures of the first published run of this experiment beside those of this machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isthmus.analysis.labels import direction_title, kind_heading, kind_label, run_label
from isthmus.analysis.phrases import link_rate
from isthmus.analysis.threads.labels import threads_label
from isthmus.analysis.threads.model import REFERENCE_BYTES, ThreadCurve, most_complete, thread_curves
from isthmus.analysis.threads.published import PUBLISHED_RATES, published_share
from isthmus.analysis.threads.rates import point_cell
from isthmus.document.grid import Cell, Column, Grid, Group, Row
from isthmus.document.section import Part
from isthmus.document.states import missing
from isthmus.language import say
from isthmus.record import MIB, Run, format_bytes, kind_rank

__all__ = ["published_part"]


@dataclass(frozen=True)
class _Ours:
    """One kind of memory of one run: its curve for each direction, and whether its rates are shares of a link."""

    run: Run
    label: str
    kind: str
    curves: Mapping[str, ThreadCurve]

    @property
    def has_link(self) -> bool:
        return link_rate(self.run) is not None


def published_part(runs: Sequence[Run]) -> Part | None:
    """A table for each direction; None where no run has the size of the published ones."""
    ours = [each for index, run in enumerate(runs) for each in _same(run, run_label(runs, index))]
    ours.sort(key=lambda each: kind_rank(each.kind))
    if not ours:
        return None
    heads = [
        Column("Spurs-\nEngine\nMB/s", "SpursEngine, MB/s"),
        Column(say("threads_report.heading_of_theory"), say("threads_report.column_of_theory")),
    ]
    for each in ours:
        name = say("common.comma").join([kind_label(each.kind), "GB/s"])
        heads.append(Column(f"{kind_heading(each.kind)}\nGB/s", name, each.label))
        of_link = Column(say("threads_report.heading_of_link"), say("threads_report.column_of_link"), each.label)
        heads += [of_link] if each.has_link else []
    groups = tuple(
        Group(direction_title(direction), tuple(_rows(direction, ours)))
        for direction in PUBLISHED_RATES
        if any(direction in each.curves for each in ours)
    )
    title = say("threads_report.published_grid", size=format_bytes(REFERENCE_BYTES))
    return Part(
        title=say("threads_report.published"),
        note=say("threads_report.published_note"),
        grids=(Grid(title, tuple(heads), groups, corner=say("threads_report.corner_threads")),),
    )


def _same(run: Run, label: str) -> list[_Ours]:
    """The curves that divide the same transfer in the same way: a slice for each of the threads, which are kept."""
    found: dict[str, dict[str, list[ThreadCurve]]] = {}
    for curve in thread_curves(run):
        if (curve.method, curve.bytes, curve.slicing) == ("workers", REFERENCE_BYTES, "slices"):
            found.setdefault(curve.host_memory, {}).setdefault(curve.direction, []).append(curve)
    return [
        _Ours(run, label, kind, {way: most_complete(curves) for way, curves in ways.items()})
        for kind, ways in found.items()
    ]


def _rows(direction: str, ours: Sequence[_Ours]) -> list[Row]:
    published = PUBLISHED_RATES[direction]
    curves = [each.curves[direction] for each in ours if direction in each.curves]
    counts = sorted({*published, *(count for curve in curves for count in curve.points)})
    return [
        Row(
            threads_label(direction, count),
            (
                Cell(f"{published[count] / MIB:.0f}") if count in published else missing(),
                Cell(f"{100 * published_share(direction, count):.0f} %") if count in published else missing(),
                *(cell for each in ours for cell in _cells(each, direction, count)),
            ),
        )
        for count in counts
    ]


def _cells(ours: _Ours, direction: str, count: int) -> list[Cell]:
    """The rate, and its share where the run knows a link."""
    point = ours.curves[direction].points.get(count) if direction in ours.curves else None
    limit = link_rate(ours.run, both=direction == "both")
    share = Cell(f"{100 * point.rate.median / limit:.0f} %") if point and limit else missing()
    return [point_cell(point), *([share] if ours.has_link else [])]
