"""Times of every way at every share and stride, and both phases of them."""

from collections.abc import Sequence

from isthmus.analysis.managed.labels import Source, movement_title, place_label, way_label
from isthmus.analysis.managed.model import MANAGED_WAYS, ManagedPoint, ManagedWay, Movement
from isthmus.document.grid import Cell, Column, Grid, Group, Row, time_cell
from isthmus.document.section import Part
from isthmus.document.states import failed, missing, skipped
from isthmus.language import say
from isthmus.record import Interval, Run, format_seconds

__all__ = ["phases_part", "times_part"]


def times_part(runs: Sequence[Run], found: Sequence[Source]) -> Part | None:
    """Both phases together: ways down, shares or strides across."""
    grids = tuple(_grid(runs, source, [("", "seconds")]) for source in found)
    if not grids:
        return None
    return Part(say("managed_report.times_title"), say("managed_report.times_note"), grids=grids)


def phases_part(runs: Sequence[Run], found: Sequence[Source]) -> Part | None:
    """Both phases apart."""
    phases = [(say("managed_report.in"), "into"), (say("managed_report.out"), "out")]
    grids = tuple(_grid(runs, source, phases) for source in found)
    if not grids:
        return None
    title, note = say("managed_report.phases_title"), say("managed_report.phases_note")
    return Part(title, note, grids=grids, page_only=True)


def _grid(runs: Sequence[Run], source: Source, phases: Sequence[tuple[str, str]]) -> Grid:
    _, movement = source
    known = {*movement.curves, *movement.failed, *movement.skipped}
    everything = [way for way in MANAGED_WAYS if way in known]
    unmeasured = {place for places in (*movement.failed.values(), *movement.skipped.values()) for place in places}
    places = sorted({*movement.places, *unmeasured})
    columns = tuple(
        Column(place_label(movement, place).replace(" ", "\n"), place_label(movement, place)) for place in places
    )
    groups = tuple(
        Group(
            title,
            tuple(
                Row(way_label(way), tuple(_cell(movement, way, place, name) for place in places)) for way in everything
            ),
        )
        for title, name in phases
    )
    title = say(f"managed_report.times_{movement.pattern}", array=movement_title(runs, source))
    return Grid(title, columns, groups, corner=say("managed_report.way"))


def _cell(movement: Movement, way: ManagedWay, place: int, name: str) -> Cell:
    if place in movement.failed.get(way, ()):
        return failed(say("managed_report.wrong"))
    point = movement.curves.get(way, {}).get(place)
    if point is None:
        why = movement.skipped.get(way, {}).get(place)
        return skipped(why) if why else missing()
    seconds: Interval = getattr(point, name)
    return time_cell(seconds, wide=name == "seconds" and not point.converged, detail=_told(point))


def _told(point: ManagedPoint) -> str:
    into, out = format_seconds(point.into.median), format_seconds(point.out.median)
    return say("managed_report.cell", into=into, out=out, count=len(point.samples))
