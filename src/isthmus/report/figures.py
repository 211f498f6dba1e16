"""Single figures of a report as pictures: their names, and SVG or PNG of one without any page around it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from isthmus.analysis.labels import DIRECTIONS, direction_title, run_label, run_title
from isthmus.analysis.machine import machine_strip, origin_line
from isthmus.analysis.sections import sections
from isthmus.document.chart import all_looks
from isthmus.document.section import Chart, Part, Section, chart_name
from isthmus.errors import UsageError
from isthmus.installing import install_extra
from isthmus.language import say, speaking
from isthmus.record import Run
from isthmus.report.drawing import draw

_WIDTH = 640
_FONT = "Noto Sans, DejaVu Sans, Arial, Hiragino Sans, Yu Gothic, PingFang SC, Microsoft YaHei, sans-serif"
# Colours of a light page, with a background, since a picture may land on any.
_COLOURS = {"--ink": "#16191d", "--soft": "#565d66", "--grid": "#dfe2e6", "--card": "#ffffff", "--error": "#b3261e"}
_SHARPNESS = 2.0


@dataclass(frozen=True)
class Figure:
    """A chart, the heading above it, and the name by which the command line knows it in every language."""

    name: str
    heading: str
    chart: Chart


def figure_titles(runs: Sequence[Run]) -> dict[str, str]:
    """The names of all figures in reading order, each with what it shows."""
    return {each.name: f"{each.heading}: {each.chart.title}" for each in figures(runs)}


def figures(runs: Sequence[Run]) -> list[Figure]:
    """Every chart of a report in reading order, under the name that it has in every language.

    A name is made of the section, its part and the chart's title in English; of several runs it has their letters.
    """
    with speaking("en"):
        names = [
            chart.name or chart_name(section.name, _plain(part.title, runs), _plain(chart.title, runs))
            for section, part, chart in _placed(runs)
        ]
    by_name: dict[str, Figure] = {}
    for base, (section, part, chart) in zip(names, _placed(runs), strict=True):
        name, count = base, 1
        while name in by_name:
            count += 1
            name = f"{base}-{count}"
        by_name[name] = Figure(name, say("labels.of_run", title=section.title, run=part.title), chart)
    return list(by_name.values())


def _placed(runs: Sequence[Run]) -> list[tuple[Section, Part, Chart]]:
    return [(section, part, chart) for section in sections(runs) for part in section.parts for chart in part.charts]


def figure_picture(runs: Sequence[Run], name: str, kind: Literal["svg", "png"]) -> bytes:
    """The figure with titles, machines and legend, 640 pixels wide without its axes; PNG has twice the pixels.

    Raises UsageError where what draws them is not installed.
    """
    try:
        import vl_convert
    except ImportError:
        raise UsageError(
            f"figures need vl-convert-python, which is not installed; {install_extra('figures')}, or take them "
            "from the page: isthmus report RUN --format html"
        ) from None

    machines = [line(run) for run in runs for line in (machine_strip, origin_line)]
    spec = _standing_alone(next(each for each in figures(runs) if each.name == name), machines)
    if kind == "svg":
        text: str = vl_convert.vegalite_to_svg(spec)
        return text.encode()
    return bytes(vl_convert.vegalite_to_png(spec, scale=_SHARPNESS))


def _plain(title: str, runs: Sequence[Run]) -> str:
    """The title with letters in place of the names of runs, and directions by their short names."""
    for index in range(len(runs)):
        title = title.replace(run_title(runs, index), run_label(runs, index))
    for direction in DIRECTIONS:
        title = title.replace(direction_title(direction), direction)
    return title


def _standing_alone(figure: Figure, machines: Sequence[str]) -> dict[str, Any]:
    drawn = draw(figure.chart.spec)
    colours = _COLOURS | {look.variable: look.light for look in all_looks()}
    spec: dict[str, Any] = _resolved(drawn, colours)
    config = spec["config"] | {"background": "#ffffff", "font": _FONT, "padding": 12}
    title = {"text": figure.heading, "subtitle": [figure.chart.title, *machines], "anchor": "start"}
    return spec | {"width": _WIDTH, "title": title, "config": config}


def _resolved(value: Any, colours: Mapping[str, str]) -> Any:
    """The specification with colours in place of the page's variables and with legends, which the page has outside."""
    if isinstance(value, dict):
        made = {name: _resolved(each, colours) for name, each in value.items()}
        if "legend" in made and made["legend"] is None:
            made["legend"] = {"title": None, "orient": "bottom", "columns": 4, "symbolOpacity": 1, "labelLimit": 300}
        return made
    if isinstance(value, list):
        return [_resolved(each, colours) for each in value]
    if isinstance(value, str) and "var(" in value:
        return re.sub(r"var\((--[\w-]+)\)", lambda found: colours.get(found[1], "#000000"), value)
    return value
