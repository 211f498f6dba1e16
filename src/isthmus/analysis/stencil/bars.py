"""Bars of a stencil's ways: what the total of each is made of."""

from collections.abc import Iterator, Sequence

from isthmus.analysis.stencil.model import STENCIL_PHASES, Stencil, StencilPoint
from isthmus.analysis.stencil.times import Found, way_title
from isthmus.analysis.stencil.words import phase_words
from isthmus.document.chart import Axis, Drawn, Row, Stacks, layer
from isthmus.document.palette import numbered_look
from isthmus.document.section import Chart, LegendEntry, Part
from isthmus.language import say
from isthmus.record import format_seconds

_LOOKS = {phase: numbered_look(place) for place, phase in enumerate(STENCIL_PHASES)}


def bars_part(found: Sequence[Found]) -> Part:
    """A picture for each square; None where no way was measured."""
    charts = tuple(_chart(title, stencil) for title, _, stencil in found if stencil.points)
    legend = tuple(LegendEntry(phase_words(phase), look) for phase, look in _LOOKS.items())
    return Part(say("stencil_report.bars_title"), say("stencil_report.bars_note"), charts, legend)


def _chart(title: str, stencil: Stencil) -> Chart:
    rows = [each for point in stencil.ranking for each in _layers(point)]
    kinds = tuple(
        Drawn(phase_words(phase), look, tuple(each for each in rows if each["kind"] == phase_words(phase)))
        for phase, look in _LOOKS.items()
    )
    bars = tuple(way_title(point.way) for point in stencil.ranking)
    return Chart(
        title,
        say("stencil_report.bars_label", title=title),
        Stacks(kinds, bars, Axis(say("stencil_report.bars_axis"), scale="linear", labels="seconds")),
    )


def _layers(point: StencilPoint) -> Iterator[Row]:
    begin = 0.0
    for phase in STENCIL_PHASES:
        if phase in point.phases:
            took = point.phases[phase].median
            total = format_seconds(point.seconds.median)
            told = {say("stencil_report.told_takes"): format_seconds(took), say("stencil_report.told_of_total"): total}
            yield layer(phase_words(phase), way_title(point.way), begin, begin + took, **told)
            begin += took
