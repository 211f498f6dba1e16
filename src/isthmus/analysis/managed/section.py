"""The section on explicit and automatic data movement: thresholds, all of the array, curves, and migration units."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from isthmus.analysis.frame import section_of
from isthmus.analysis.labels import of_run
from isthmus.analysis.managed.granularity_tables import granularity_parts
from isthmus.analysis.managed.model import ManagedPoint, ManagedWay, Movement, movements
from isthmus.analysis.managed.published import measured_movements
from isthmus.analysis.managed.tables import Source, movement_title, thresholds_part, times_part, whole_part
from isthmus.analysis.managed.words import pattern_name, phases_told, place_label, way_label, way_look
from isthmus.analysis.published.table import published_parts
from isthmus.document import chart
from isthmus.document.chart import Axis, Drawn, curves_chart
from isthmus.document.grid import excerpt
from isthmus.document.section import Chart, Glance, LegendEntry, Part, Section
from isthmus.language import say
from isthmus.record import Run, format_seconds

_MOST = 7


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of it; None where that is nothing but skips."""
    sources = [(index, movement) for index, run in enumerate(runs) for movement in movements(run)]
    parts = [
        thresholds_part(runs, sources),
        whole_part(runs, sources),
        _with_curves(times_part(runs, sources), runs, sources),
        *published_parts(runs, "managed", measured_movements),
        *granularity_parts(runs),
    ]
    # The caveats are about passes over an array, which a run of units alone has not.
    return section_of("managed", parts, ("work", "fits") if sources else ())


def _with_curves(part: Part, runs: Sequence[Run], sources: Sequence[Source]) -> Part:
    """The part with a chart for each size and pattern that has a curve of two points at least."""
    chosen = [source for source in sources if any(_curves(source[1]))]
    methods = dict.fromkeys(method for _, movement in chosen for method, _ in _curves(movement))
    charts = tuple(_chart(part.title, runs, source) for source in chosen)
    return replace(
        part, charts=charts, legend=tuple(LegendEntry(way_label(method), way_look(method)) for method in methods)
    )


def _chart(heading: str, runs: Sequence[Run], source: Source) -> Chart:
    index, movement = source
    name = pattern_name(movement.pattern)
    title = of_run(movement_title(runs, source, name), runs, index)
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
                chart.row(name, place, point.seconds, **_told(movement, place, name, point))
                for place, point in points.items()
            )
            yield method, Drawn(name, way_look(method), rows)


def _told(movement: Movement, place: int, name: str, point: ManagedPoint) -> dict[str, str]:
    """What pointing at a point shows."""
    return {
        say("labels.told_method"): name,
        pattern_name(movement.pattern): place_label(movement.pattern, place),
        say("labels.told_time"): format_seconds(point.seconds.median),
        **phases_told(point),
    }


def glance(run: Run) -> Glance | None:
    """The first of its tables that the run can fill; None where it has nothing of managed memory."""
    sources = [(0, movement) for movement in movements(run)]
    parts = (whole_part([run], sources), times_part([run], sources), *granularity_parts([run]))
    grids = [grid for part in parts if part and not part.page_only for grid in part.grids]
    return Glance((excerpt(grids[0], _MOST),)) if grids else None
