"""The table that shows a run's figures next to those that were published: published, here, and here over published."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as changed

from isthmus.analysis.labels import run_label
from isthmus.analysis.phrases import direction_name, link_rate, memory_label, spanned
from isthmus.analysis.published.source import Ends, Fields, Measured, Series, Source, Table, measured, sources
from isthmus.document.grid import Cell, Column, Grid, Group, Row, brief, interval_cell, missing, time_cell
from isthmus.document.section import Part
from isthmus.language import Quoted, can_say, say
from isthmus.record import Metric, Run, format_bytes, format_rate, format_seconds

# What a run has of a series, by place.
Measure = Callable[[Run, Series], Mapping[int, Measured]]
# The host's, as everywhere, and that of the device's events, by which programs of that kind time copies.
_CLOCKS: tuple[Metric | None, ...] = (None, "device_seconds")


@dataclass(frozen=True)
class _Column:
    """The values of one run, and of one set of fields of it, by series and place."""

    run: Run
    label: str
    kind: str
    values: Mapping[str, Mapping[int, Measured]]

    def link(self, series: Series) -> float | None:
        return link_rate(self.run, both=series.case.get("direction") == "both")


def published_parts(runs: Sequence[Run], experiment: str, measure: Measure = measured) -> tuple[Part, ...]:
    """Tables of each source that has figures of this experiment; none of one that no run has anything to show next to.

    `measure` finds the run's values where they are more than times of single cases.
    """
    parts = (_part(runs, source, experiment, measure) for source in sources() if experiment in source.experiments)
    return tuple(part for part in parts if part)


def _part(runs: Sequence[Run], source: Source, experiment: str, measure: Measure) -> Part | None:
    table = source.experiments[experiment]
    columns = [
        _Column(run, run_label(runs, index), str(fields.get("host_memory", "")), by_run)
        for fields in ({"experiment": experiment, **table.case, **each} for each in table.beside)
        for index, run in enumerate(runs)
        if any((by_run := _found(run, table, fields, measure)).values())
    ]
    if not columns:
        return None
    groups = tuple(group for series in table.series if (group := _group(source, series, columns)))
    machine = say(f"published.machine_{source.machine}")
    grid = Grid(machine, tuple(_headings(source, columns)), _merged(groups), corner=say("published.corner"))
    by_place = _by_place(runs, table, {"experiment": experiment, **table.case}, measure)
    note = say("published.note", citation=Quoted(source.citation))
    return Part(say("published.title"), note, grids=(grid, *by_place))


def _by_place(runs: Sequence[Run], table: Table, fields: Fields, measure: Measure) -> Iterator[Grid]:
    """The series that make a table of their own, place by place, on the host's clock and on the device's."""
    chosen = [series for series in table.series if series.name in table.by_place]
    for metric in _CLOCKS:
        shown: list[tuple[Column, Mapping[int, Cell]]] = []
        places: set[int] = set()
        for series in chosen:
            published = {at: Cell(f"{ends[0]:.3g}") for at, ends in series.by_place.items() if ends}
            shown.append((_place_column(series, say("published.published")), published))
            for index, run in enumerate(runs):
                values = measure(run, changed(series, case={**fields, **series.case}, metric=metric))
                here = {at: _rate_cell(value) for at, value in values.items() if at in published}
                shown.append((_place_column(series, say("published.here"), run_label(runs, index)), here))
                places |= here.keys()
        if places:
            rows = (
                Row(format_bytes(at), tuple(cells.get(at, missing()) for _, cells in shown)) for at in sorted(places)
            )
            title = say("published.by_events" if metric else "published.by_host")
            yield Grid(title, tuple(column for column, _ in shown), (Group("GB/s", tuple(rows)),))


def _place_column(series: Series, what: str, label: str = "") -> Column:
    name = _name(series)
    return Column(f"{name} {what}".replace(" ", "\n"), say("common.comma").join([name, what]), label)


def _rate_cell(here: Measured) -> Cell:
    return brief(interval_cell(here.value, scale=1e-9, wide=here.wide)) if here.value else missing()


def _found(run: Run, table: Table, fields: Fields, measure: Measure) -> dict[str, Mapping[int, Measured]]:
    """By series and place, without the places that its part of the table does not show."""
    return {
        series.name: {
            place: value
            for place, value in measure(run, changed(series, case={**fields, **series.case})).items()
            if series.union or place in series.by_place or _between(series, place)
        }
        for series in table.series
    }


def _between(series: Series, place: int) -> bool:
    return series.between is not None and series.between[0] <= place <= series.between[1]


def _headings(source: Source, columns: Sequence[_Column]) -> Iterator[Column]:
    published, of_link, ratio = say("published.published"), say("bandwidth_report.row_link"), say("published.ratio")
    yield Column(published, published)
    if source.link_bytes_per_second:
        yield Column(of_link, say("common.comma").join([published, of_link]))
    for column in columns:
        here = say("common.comma").join(
            filter(None, (say("published.here"), column.kind and memory_label(column.kind)))
        )
        yield Column(here.replace(" ", "\n"), here, column.label)
        if source.link_bytes_per_second:
            yield Column(of_link, of_link, column.label)
        yield Column(ratio.replace(" ", "\n"), ratio, column.label)


def _group(source: Source, series: Series, columns: Sequence[_Column]) -> Group | None:
    """A row for each place; one row, in a group without a title, where the series has one alone."""
    by_place = series.by_place
    shown = {place for column in columns for place in column.values[series.name]}
    if not shown and (series.along or not series.union):
        return None
    name = _name(series)
    if series.between:
        ends = [end for value in by_place.values() if value for end in value]
        return Group("", (Row(name, tuple(_spans(source, series, (min(ends), max(ends)), columns))),))
    places = sorted({*by_place, *shown} if series.union else shown)
    rows = [
        Row(_place(series, place) if series.along else name, tuple(_cells(source, series, place, columns)))
        for place in places
    ]
    return Group(name if series.along else "", tuple(rows))


def _name(series: Series) -> str:
    key = f"published.series_{series.text or series.name}"
    kind, direction = (str(series.case.get(field, "")) for field in ("host_memory", "direction"))
    if can_say(key):
        return say(key, direction=direction_name(direction), memory=memory_label(kind), **series.words)
    return f"{memory_label(kind)} {direction_name(direction)}" if kind and direction else series.name


def _merged(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Groups without a title as one."""
    plain = tuple(row for group in groups if not group.title for row in group.rows)
    return (*([Group("", plain)] if plain else []), *(group for group in groups if group.title))


def _place(series: Series, place: int) -> str:
    if series.along in ("bytes", "stride_bytes"):
        return format_bytes(place)
    if series.along == "rows":
        return f"{place} x {place}"
    return f"{place} + {place}" if series.case.get("direction") == "both" else str(place)


def _cells(source: Source, series: Series, place: int, columns: Sequence[_Column]) -> Iterator[Cell]:
    known = place in series.by_place
    published = series.by_place.get(place)
    yield Cell(_published(source, series, published)) if known else missing()
    if source.link_bytes_per_second:
        both = 2 if series.case.get("direction") == "both" else 1
        share = published[0] * source.rate_unit_bytes / source.link_bytes_per_second / both if published else None
        yield Cell(f"{100 * share:.0f} %") if share else missing()
    for column in columns:
        here = column.values[series.name].get(place)
        yield _here(series, here) if here else missing()
        if source.link_bytes_per_second:
            limit = column.link(series)
            yield Cell(f"{100 * here.value.median / limit:.0f} %") if here and here.value and limit else missing()
        value = here.value.median if here and here.value else None
        yield _ratio(source, series, (value, value) if value else None, published)


def _spans(source: Source, series: Series, published: Ends, columns: Sequence[_Column]) -> Iterator[Cell]:
    yield Cell(_published(source, series, published))
    for column in columns:
        medians = [each.value.median for each in column.values[series.name].values() if each.value]
        here = (min(medians), max(medians)) if medians else None
        yield Cell(spanned(*(_plain(series, end) for end in here))) if here else missing()
        yield _ratio(source, series, here, published)


def _published(source: Source, series: Series, ends: Ends | None) -> str:
    if ends is None:
        return say("published.never")
    if series.quantity == "rate":
        # As it was printed.
        gigabytes = source.rate_unit_bytes == 1e9
        return spanned(*(format_rate(1e9 * end) if gigabytes else f"{end:.0f} {source.rate_unit}" for end in ends))
    if series.quantity == "times" and ends[0] == ends[1]:
        return f"{ends[0]:.3g}"
    return spanned(*(_plain(series, end) for end in ends))


def _plain(series: Series, value: float) -> str:
    match series.quantity:
        case "seconds":
            return format_seconds(value)
        case "rate":
            return format_rate(value)
        case "size":
            return format_bytes(round(value))
        case "percent":
            return f"{value:g} %"
        case "times":
            return _factor(value)


def _here(series: Series, here: Measured) -> Cell:
    if here.words or here.value is None:
        return Cell(here.words)
    match series.quantity:
        case "seconds":
            return time_cell(here.value, wide=here.wide)
        case "rate":
            return replace(interval_cell(here.value, scale=1e-9, wide=here.wide), unit="GB/s")
        case _:
            return interval_cell(here.value, wide=here.wide)


def _ratio(source: Source, series: Series, here: Ends | None, published: Ends | None) -> Cell:
    """How many times the published figure; a dash next to a range or an answer without a number."""
    if here is None or published is None or published[0] != published[1]:
        return missing()
    scale = source.rate_unit_bytes if series.quantity == "rate" else 1.0
    return Cell(spanned(*(_factor(end / published[0] / scale) for end in here)))


def _factor(value: float) -> str:
    """A factor, two digits where it is huge or tiny: ``0.014``, ``0.78``, ``1.45``, ``4.3``, ``41``, ``7,400``."""
    if value >= 999.5:
        return f"{float(f'{value:.2g}'):,.0f}"
    return f"{value:.2g}" if value < 0.0995 else f"{value:.2f}" if value < 1.5 else f"{value:.{value < 9.95:d}f}"
