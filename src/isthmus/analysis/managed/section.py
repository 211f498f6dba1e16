"""The section on explicit and automatic data movement: thresholds, all of the array, curves, and migration units."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from isthmus.analysis.charts import legend_of
from isthmus.analysis.frame import section_of
from isthmus.analysis.labels import Source, sources
from isthmus.analysis.managed.granularity_tables import granularity_parts
from isthmus.analysis.managed.model import ManagedWay, Movement, movements
from isthmus.analysis.managed.published import measured_movements
from isthmus.analysis.managed.tables import Movements, movement_title, thresholds_part, times_part, whole_part
from isthmus.analysis.managed.words import pattern_name, phases_shown, place_label, way_label, way_look
from isthmus.analysis.published.table import published_parts
from isthmus.analysis.statistics.curve import Point
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.grid import excerpt
from isthmus.document.section import Chart, Glance, Part, Section
from isthmus.language import say
from isthmus.record import Run, format_seconds

_MOST = 7


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of it; None where that is nothing but skips."""
    measured = sources(runs, movements)
    parts = [
        thresholds_part(measured),
        whole_part(measured),
        _with_curves(times_part(measured), measured),
        *published_parts(runs, "managed", measured_movements),
        *granularity_parts(runs),
    ]
    # The caveats are about passes over an array, which a run of units alone has not.
    return section_of("managed", parts, ("work", "fits") if measured else ())


def glance(run: Run) -> Glance | None:
    """All of an array touched, else the first of its tables that the run can fill; None where it has none."""
    measured = sources([run], movements)
    parts = (whole_part(measured), times_part(measured), *granularity_parts([run]))
    grids = [grid for part in parts if not part.page_only for grid in part.grids]
    return Glance((excerpt(grids[0], _MOST),)) if grids else None


def _with_curves(part: Part, measured: Movements) -> Part:
    """The part with a chart for each size and pattern that has a curve of two points at least."""
    chosen = [each for each in measured if any(_curves(each.value))]
    methods = dict.fromkeys(method for each in chosen for method, _ in _curves(each.value))
    charts = tuple(_chart(part.title, each) for each in chosen)
    return replace(part, charts=charts, legend=legend_of({way_label(each): way_look(each) for each in methods}))


def _chart(heading: str, source: Source[Movement]) -> Chart:
    movement = source.value
    name = pattern_name(movement.pattern)
    title = source.titled(movement_title(source, name))
    by_share = movement.pattern == "percent"
    spec = curves_chart(
        [curve for _, curve in _curves(movement)],
        Axis(f"{name}, %", scale="linear") if by_share else Axis(name, labels="bytes"),
        Axis(say("labels.told_time"), labels="seconds"),
        # A copy of the whole array that was measured once is a line.
        rules=[
            (point.seconds.median, way_label(method))
            for method, points in movement.curves.items()
            if method.method == "explicit_whole" and len(points) == 1
            for point in points.values()
        ],
    )
    return Chart(title, f"{heading}: {title}", spec)


def _curves(movement: Movement) -> Iterator[tuple[ManagedWay, Drawn]]:
    for method, points in movement.curves.items():
        if len(points) > 1:
            name = way_label(method)
            rows = tuple(
                chart.row(name, place, point.seconds, **_shown(movement, place, name, point))
                for place, point in points.items()
            )
            yield method, Drawn(name, way_look(method), rows)


def _shown(movement: Movement, place: int, name: str, point: Point) -> dict[str, str]:
    """What pointing at a point shows."""
    return {
        say("labels.told_method"): name,
        pattern_name(movement.pattern): place_label(movement.pattern, place),
        say("labels.told_time"): format_seconds(point.seconds.median),
        **phases_shown(point),
    }
