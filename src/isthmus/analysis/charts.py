"""What charts of several experiments share: points with their intervals, the rate of the link, legends."""

from collections.abc import Callable, Mapping
from typing import TypeVar

from isthmus.analysis.labels import details
from isthmus.analysis.phrases import link_rate
from isthmus.analysis.statistics.curve import Point
from isthmus.document.chart import Row, row
from isthmus.document.palette import Look
from isthmus.document.section import LegendEntry
from isthmus.language import say
from isthmus.record import Run, format_rate

_Place = TypeVar("_Place", int, float)


def rate_rows(
    name: str, points: Mapping[_Place, Point], shown: Callable[[_Place], Mapping[str, str]]
) -> tuple[Row, ...]:
    """The points of a curve of rates by their places; pointing at one shows where it is, and the figures."""
    return tuple(
        row(name, place, point.rate.scaled(1e-9), **shown(place), **details(point)) for place, point in points.items()
    )


def link_rules(run: Run, *, both: bool = False) -> list[tuple[float, str]]:
    """A line at the rate of the link, in GB/s; of both directions twice as high. None where no link is known."""
    limit = link_rate(run, both=both)
    return [(limit / 1e9, say("labels.link_rate", rate=format_rate(limit)))] if limit else []


def legend_of(looks: Mapping[str, Look]) -> tuple[LegendEntry, ...]:
    """Names of curves with their looks."""
    return tuple(LegendEntry(*each) for each in looks.items())
