"""Curves of the time over the share and over the stride, one for each way to move the array."""

from collections.abc import Iterator, Sequence

from isthmus.model import PAPER_PERCENT, PAPER_STRIDE, ManagedWay, Movement, phases_words
from isthmus.record import Run, format_seconds
from isthmus.report import chart
from isthmus.report.chart import Axis, Drawn, curves_chart
from isthmus.report.labels import run_title
from isthmus.report.managed_labels import Source, movement_title, place_label, way_label, way_look
from isthmus.report.section import Chart, LegendEntry, Part

__all__ = ["curves_part"]

_NOTE = (
    "Time of both phases together. A copy of the whole array takes the same time whatever is touched: where it was "
    "measured once, it is a horizontal line. The vertical one is where managed memory overtook it on the paper's V100."
)
_X = {"percent": "share touched, %", "stride": "stride"}
_WHAT = {"percent": "the share touched", "stride": "the stride"}
_PAPER = {"percent": PAPER_PERCENT, "stride": PAPER_STRIDE}


def curves_part(runs: Sequence[Run], found: Sequence[Source]) -> Part | None:
    """A chart for each size and pattern that has a curve of two points at least."""
    chosen = [source for source in found if any(_curves(source[1]))]
    if not chosen:
        return None
    ways = dict.fromkeys(way for _, movement in chosen for way, _ in _curves(movement))
    return Part(
        "Time against what is touched",
        _NOTE,
        tuple(_chart(runs, source) for source in chosen),
        tuple(LegendEntry(way_label(way), way_look(way)) for way in ways),
    )


def _chart(runs: Sequence[Run], source: Source) -> Chart:
    index, movement = source
    title = f"{movement_title(runs, source)}, by {_WHAT[movement.pattern]}"
    if len(runs) > 1:
        title = f"{movement_title(runs, source)}, by {_WHAT[movement.pattern]}, {run_title(runs, index)}"
    drawn = [curve for _, curve in _curves(movement)]
    xs = [row["x"] for curve in drawn for row in curve.rows]
    paper = _PAPER[movement.pattern]
    spec = curves_chart(
        drawn,
        Axis(_X[movement.pattern], scale="linear")
        if movement.pattern == "percent"
        else Axis(_X[movement.pattern], labels="bytes"),
        Axis("time", labels="seconds"),
        rules=[
            (points[place].seconds.median, way_label(way))
            for way, points in movement.curves.items()
            if way.method == "explicit_whole" and len(points) == 1
            for place in points
        ],
        verticals=[(paper, "V100")] if min(xs) <= paper <= max(xs) else [],
    )
    label = f"Time against {_WHAT[movement.pattern]}, {title}; its figures are in the tables."
    return Chart(title, label, spec)


def _curves(movement: Movement) -> Iterator[tuple[ManagedWay, Drawn]]:
    for way, points in movement.curves.items():
        if len(points) > 1:
            name = way_label(way)
            rows = tuple(
                chart.row(
                    name,
                    place,
                    *point.seconds,
                    way=name,
                    touched=place_label(movement, place),
                    time=format_seconds(point.seconds.median),
                    phases=phases_words(point.into, point.out),
                    samples=str(len(point.samples)),
                )
                for place, point in points.items()
            )
            yield way, Drawn(name, way_look(way), rows)
