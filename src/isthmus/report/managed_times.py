"""Times of every way at every share and stride, and both phases of them."""

from collections.abc import Sequence

from isthmus.model import MANAGED_WAYS, ManagedPoint, ManagedWay, Movement
from isthmus.record import Interval, Run, format_seconds
from isthmus.report.grid import Cell, Column, Grid, Group, Row, time_cell
from isthmus.report.managed_labels import MISSING, Source, movement_title, place_label, way_label
from isthmus.report.section import Part

__all__ = ["phases_part", "times_part"]

_TITLES = {"percent": "Leading part touched", "stride": "One double touched in every so many bytes"}


def times_part(runs: Sequence[Run], found: Sequence[Source]) -> Part | None:
    """Both phases together: ways down, shares or strides across."""
    note = "Median time of both phases together with half of its 95 % interval; the phases on hovering."
    grids = tuple(_grid(runs, source, [("", "seconds")]) for source in found)
    return Part("Times", note, grids=grids) if grids else None


def phases_part(runs: Sequence[Run], found: Sequence[Source]) -> Part | None:
    """Both phases apart."""
    note = "In: copy in and the device's computing. Out: copy out and the CPU's adding up."
    grids = tuple(_grid(runs, source, [("in", "into"), ("out", "out")]) for source in found)
    return Part("Times of the phases", note, grids=grids, page_only=True) if grids else None


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
    return Grid(f"{_TITLES[movement.pattern]}, {movement_title(runs, source)}", columns, groups, corner="Way")


def _cell(movement: Movement, way: ManagedWay, place: int, name: str) -> Cell:
    if place in movement.failed.get(way, ()):
        return Cell("failed", state="failed", detail="the array added up to something else")
    point = movement.curves.get(way, {}).get(place)
    if point is None:
        why = movement.skipped.get(way, {}).get(place)
        return Cell("skipped", state="skipped", detail=why) if why else MISSING
    seconds: Interval = getattr(point, name)
    return time_cell(seconds, wide=name == "seconds" and not point.converged, detail=_told(point))


def _told(point: ManagedPoint) -> str:
    into, out = format_seconds(point.into.median), format_seconds(point.out.median)
    return f"in {into}, out {out}, {len(point.samples)} samples"
