"""Bars of a stencil's ways: what the total of each is made of."""

from collections.abc import Iterator, Sequence

from isthmus.model import STENCIL_PHASES, Stencil, StencilPoint, capitalised, phase_words, way_label
from isthmus.record import format_seconds
from isthmus.report.chart import Axis, Drawn, Row, Stacks, layer
from isthmus.report.labels import kind_label
from isthmus.report.palette import numbered_look
from isthmus.report.section import Chart, LegendEntry, Part
from isthmus.report.stencil_times import Found

__all__ = ["bars_part"]

_NOTE = "The medians of the phases, one after the other; fastest ways above."
_LOOKS = {phase: numbered_look(place) for place, phase in enumerate(STENCIL_PHASES)}


def bars_part(found: Sequence[Found]) -> Part | None:
    """A picture for each square; None where no way was measured."""
    charts = tuple(_chart(title, stencil) for title, _, stencil in found if stencil.points)
    legend = tuple(LegendEntry(phase_words(phase), look) for phase, look in _LOOKS.items())
    return Part("What the time goes into", _NOTE, charts, legend) if charts else None


def _chart(title: str, stencil: Stencil) -> Chart:
    rows = [each for point in stencil.ranking for each in _layers(point)]
    kinds = tuple(
        Drawn(phase_words(phase), look, tuple(each for each in rows if each["kind"] == phase_words(phase)))
        for phase, look in _LOOKS.items()
    )
    bars = tuple(_name(point) for point in stencil.ranking)
    return Chart(
        capitalised(title),
        f"Time of each way by phases on a {title}; the table above has the figures.",
        Stacks(kinds, bars, Axis("time of all iterations, without MPI", scale="linear", labels="seconds")),
    )


def _layers(point: StencilPoint) -> Iterator[Row]:
    begin = 0.0
    for phase in STENCIL_PHASES:
        if phase in point.phases:
            took = point.phases[phase].median
            total = format_seconds(point.seconds.median)
            yield layer(
                phase_words(phase), _name(point), begin, begin + took, takes=format_seconds(took), of_total=total
            )
            begin += took


def _name(point: StencilPoint) -> str:
    return f"{way_label(point.way[0])}, {kind_label(point.way[1])}"
