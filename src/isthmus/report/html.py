"""The report as one HTML page that needs nothing else: no network, no other file, any browser of today."""

import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import TextIO

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from isthmus.model import findings, verdict
from isthmus.record import Run
from isthmus.report import vega
from isthmus.report.bandwidth_charts import bandwidth_charts
from isthmus.report.bandwidth_grid import grids
from isthmus.report.chart import Spec, Stacks, Tiles, Timeline
from isthmus.report.drawing import VegaLite, draw
from isthmus.report.facts import facts
from isthmus.report.labels import run_title
from isthmus.report.overview import overview
from isthmus.report.palette import all_looks, look
from isthmus.report.sections import sections
from isthmus.report.skips import skip_groups

__all__ = ["write"]


def write(runs: Sequence[Run], out: TextIO) -> None:
    """Write the page to `out`; curves of several runs stand side by side on the same scale."""
    # Whatever a run file says is text: it comes from elsewhere and may hold any characters.
    environment = Environment(
        loader=PackageLoader("isthmus.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(look=look, all_looks=all_looks)
    environment.filters["packed"] = _packed
    glance = overview(runs)
    charts = bandwidth_charts(runs)
    others = sections(runs)
    drawn = glance or any(section.has_charts for section in others)
    page = environment.get_template("page.html.j2").render(
        titles=[run_title(runs, index) for index in range(len(runs))],
        verdicts=verdict(runs).split("\n"),
        findings=[findings(run) for run in runs],
        overview=glance,
        kinds=charts.legend,
        rate_charts=charts.rate,
        time_charts=charts.time,
        samples_charts=charts.samples,
        grids=grids(runs),
        sections=others,
        # Beside other experiments the headings of this one say what they are about.
        about_bandwidth="Bandwidth: " if others else "",
        skips=[skip_groups(run) for run in runs],
        facts=[facts(run) for run in runs],
        settings=[run.settings for run in runs],
        commands=[_command(run) for run in runs],
        vega=Markup(vega.script()) if drawn else "",
    )
    out.write(page)


def _packed(spec: Spec | Stacks | Timeline | Tiles) -> VegaLite:
    """The drawing with each data set as names and rows of values, half the size; page.js unpacks it."""
    drawn = draw(spec)
    packed = {
        name: {"names": list(rows[0]) if rows else [], "rows": [list(row.values()) for row in rows]}
        for name, rows in drawn["datasets"].items()
    }
    return drawn | {"datasets": packed}


def _command(run: Run) -> str:
    """The command as someone else would type it: without the folder of the program."""
    words = run.settings.command
    return shlex.join([PurePath(words[0]).name, *words[1:]]) if words else ""
