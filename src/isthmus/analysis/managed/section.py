"""The section on explicit and automatic data movement: thresholds, all of the array, curves, and migration units."""

from collections.abc import Iterator, Sequence

from isthmus.analysis.frame import section_of
from isthmus.analysis.labels import of_run
from isthmus.analysis.managed.granularity_tables import granularity_parts
from isthmus.analysis.managed.model import ManagedPoint, ManagedWay, Movement, movements
from isthmus.analysis.managed.published import measured_movements
from isthmus.analysis.managed.tables import Source, movement_title, thresholds_part, times_part, whole_part
from isthmus.analysis.managed.words import phases_words, place_label, way_label, way_look
from isthmus.analysis.published.table import published_part
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.section import Chart, LegendEntry, Part, Section
from isthmus.language import say
from isthmus.record import Run, format_seconds


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of it; None where that is nothing but skips."""
    found = [(index, movement) for index, run in enumerate(runs) for movement in movements(run)]
    parts = [
        thresholds_part(runs, found),
        whole_part(runs, found),
        _curves_part(runs, found),
        times_part(runs, found),
        published_part(runs, "managed", measured_movements),
        *granularity_parts(runs),
    ]
    # The caveats are about passes over an array, which a run of units alone has not.
    return section_of("managed", parts, ("work", "fits") if found else ())


def _curves_part(runs: Sequence[Run], found: Sequence[Source]) -> Part | None:
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
    title = of_run(say(f"managed_report.chart_{movement.pattern}", array=movement_title(runs, source)), runs, index)
    by_share, by_stride = say("managed_report.x_percent"), say("managed_report.x_stride")
    spec = curves_chart(
        [curve for _, curve in _curves(movement)],
        Axis(by_share, scale="linear") if movement.pattern == "percent" else Axis(by_stride, labels="bytes"),
        Axis(say("managed_report.time"), labels="seconds"),
        rules=[
            (points[place].seconds.median, way_label(way))
            for way, points in movement.curves.items()
            if way.method == "explicit_whole" and len(points) == 1
            for place in points
        ],
    )
    return Chart(title, say("managed_report.curves_label", title=title), spec)


def _curves(movement: Movement) -> Iterator[tuple[ManagedWay, Drawn]]:
    for way, points in movement.curves.items():
        if len(points) > 1:
            name = way_label(way)
            rows = tuple(
                chart.row(name, place, median, low, high, **_hover(movement, place, name, point))
                for place, point in points.items()
                for median, low, high in [point.seconds]
            )
            yield way, Drawn(name, way_look(way), rows)


def _hover(movement: Movement, place: int, name: str, point: ManagedPoint) -> dict[str, str]:
    """What pointing at a point shows."""
    return {
        say("labels.told_method"): name,
        say("managed_report.told_touched"): place_label(movement.pattern, place),
        say("labels.told_time"): format_seconds(point.seconds.median),
        say("managed_report.told_phases"): phases_words(point.into, point.out),
        say("labels.told_samples"): str(len(point.samples)),
    }
