"""Curves of the time over the share and over the stride, one for each way to move the array."""

from collections.abc import Iterator, Sequence

from isthmus.analysis.managed.labels import Source, movement_title, of_run, place_label, way_label, way_look
from isthmus.analysis.managed.model import ManagedPoint, ManagedWay, Movement
from isthmus.analysis.managed.words import phases_words
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.section import Chart, LegendEntry, Part
from isthmus.language import say
from isthmus.record import Run, format_seconds


def curves_part(runs: Sequence[Run], found: Sequence[Source]) -> Part | None:
    """A chart for each size and pattern that has a curve of two points at least."""
    chosen = [source for source in found if any(_curves(source[1]))]
    if not chosen:
        return None
    ways = dict.fromkeys(way for _, movement in chosen for way, _ in _curves(movement))
    return Part(
        say("managed_report.curves_title"),
        say("managed_report.curves_note"),
        tuple(_chart(runs, source) for source in chosen),
        tuple(LegendEntry(way_label(way), way_look(way)) for way in ways),
    )


def _chart(runs: Sequence[Run], source: Source) -> Chart:
    index, movement = source
    title = say(f"managed_report.chart_{movement.pattern}", array=movement_title(runs, source))
    title = of_run(title, runs, index)
    drawn = [curve for _, curve in _curves(movement)]
    spec = curves_chart(
        drawn,
        Axis(say("managed_report.x_percent"), scale="linear")
        if movement.pattern == "percent"
        else Axis(say("managed_report.x_stride"), labels="bytes"),
        Axis(say("managed_report.time"), labels="seconds"),
        rules=[
            (points[place].seconds.median, way_label(way))
            for way, points in movement.curves.items()
            if way.method == "explicit_whole" and len(points) == 1
            for place in points
        ],
    )
    return Chart(title, say("managed_report.curves_label", title=title), spec)


def _told(movement: Movement, place: int, name: str, point: ManagedPoint) -> dict[str, str]:
    """What pointing at a point shows."""
    return {
        say("labels.told_method"): name,
        say("managed_report.told_touched"): place_label(movement, place),
        say("labels.told_time"): format_seconds(point.seconds.median),
        say("managed_report.told_phases"): phases_words(point.into, point.out),
        say("labels.told_samples"): str(len(point.samples)),
    }


def _curves(movement: Movement) -> Iterator[tuple[ManagedWay, Drawn]]:
    for way, points in movement.curves.items():
        if len(points) > 1:
            name = way_label(way)
            rows = tuple(
                chart.row(name, place, median, low, high, **_told(movement, place, name, point))
                for place, point in points.items()
                for median, low, high in [point.seconds]
            )
            yield way, Drawn(name, way_look(way), rows)
