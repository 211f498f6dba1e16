"""What one looks for first: for every curve of a run where it settles, its latency and how steady it is."""

from collections.abc import Sequence

from isthmus.analysis.labels import DIRECTIONS, curve_name, direction_title, run_label
from isthmus.analysis.phrases import about_bytes, link_rate, spanned
from isthmus.analysis.statistics.curve import Curve, bandwidth_curves
from isthmus.analysis.statistics.shape import half_size, latency, plateau, steadiness, trend
from isthmus.document.grid import Cell, Column, Grid, Group, Row, decimals
from isthmus.language import say
from isthmus.record import Run, format_bytes, format_rate, format_seconds, kind_rank

__all__ = ["overview"]


def overview(runs: Sequence[Run]) -> Grid | None:
    """A row for each curve: by direction, then memory kind, then run; None without any curve."""
    found = [
        (kind_rank(curve.host_memory), index, curve)
        for index, run in enumerate(runs)
        for curve in bandwidth_curves(run)
        if curve.points and curve.metric == "host_seconds"
    ]
    found.sort(key=lambda each: each[:2])
    groups = tuple(
        Group(direction_title(direction), rows)
        for direction in DIRECTIONS
        if (rows := tuple(_row(runs, index, curve) for _, index, curve in found if curve.direction == direction))
    )
    if not groups:
        return None
    headings = {
        "settles": say("bandwidth_report.column_settles"),
        "interval": say("bandwidth_report.column_interval"),
        "share": say("bandwidth_report.column_share"),
        "half": say("bandwidth_report.column_half"),
        "latency": say("bandwidth_report.column_latency"),
        "spread": say("bandwidth_report.column_spread"),
    }
    columns = tuple(Column(text, text, prose=name == "settles") for name, text in headings.items())
    return Grid(say("bandwidth_report.glance_grid"), columns, groups, corner=say("bandwidth_report.corner_memory"))


def _row(runs: Sequence[Run], index: int, curve: Curve) -> Row:
    label = run_label(runs, index)
    settled = plateau(curve)
    rate = settled.rate if settled else curve.points[-1].rate
    limit = link_rate(runs[index], both=curve.direction == "both")
    half = half_size(curve)
    half_text = about_bytes(half.bytes) if half else ""
    small, steady = latency(curve), steadiness(curve)
    digits = decimals(rate.median / 1e9)
    cells = (
        Cell(_ending(curve)),
        Cell(spanned(*(f"{end / 1e9:.{digits}f}" for end in (rate.low, rate.high)))),
        Cell(f"{100 * rate.median / limit:.0f} %" if limit else ""),
        Cell(say("bandwidth_report.at_most", size=half_text) if half and half.at_most else half_text),
        Cell(format_seconds(small.median) if small else ""),
        Cell(f"{steady.spread:.2f}" if steady else ""),
    )
    return Row(f"{label}: {curve_name(curve)}" if label else curve_name(curve), cells)


def _ending(curve: Curve) -> str:
    """How the curve ends, in a few words."""
    settled, last = plateau(curve), curve.points[-1]
    if settled:
        first = format_bytes(settled.from_bytes)
        return say("bandwidth_report.settles", rate=format_rate(settled.rate.median), size=first)
    rate, size = format_rate(last.rate.median), format_bytes(last.bytes)
    match trend(curve):
        case "rising":
            return say("bandwidth_report.rising", rate=rate, size=size)
        case "single":
            return say("bandwidth_report.single", rate=rate, size=size)
        case _:
            return say("bandwidth_report.unsettled", rate=rate, size=size)
