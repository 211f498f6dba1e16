"""The report as one HTML page that needs nothing else: no network, no other file, any browser of today."""

import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import TextIO

from isthmus.analysis.conclusions import conclude
from isthmus.analysis.facts import facts
from isthmus.analysis.labels import run_title
from isthmus.analysis.sections import sections
from isthmus.analysis.skips import skip_groups
from isthmus.analysis.summary import summarise
from isthmus.record import Run
from isthmus.report.embedding import Embedded
from isthmus.report.environment import environment


def write(runs: Sequence[Run], out: TextIO) -> None:
    """Write the page to `out`; what several runs hold of an experiment stands side by side on the same scale."""
    concluded = [conclude(run) for run in runs]
    page = environment().get_template("page.html.j2")
    shown = sections(runs)
    text = page.render(
        titles=[run_title(runs, index) for index in range(len(runs))],
        summaries=[summarise(found) for found in concluded],
        concluded=concluded,
        sections=shown,
        section_titles={section.name: section.title for section in shown},
        skips=[skip_groups(run) for run in runs],
        facts=[facts(run) for run in runs],
        settings=[run.settings for run in runs],
        commands=[_command(run) for run in runs],
        embedded=Embedded(),
    )
    out.write(text)


def _command(run: Run) -> str:
    """The command as someone else would type it: without the folder of the program."""
    words = run.settings.command
    return shlex.join([PurePath(words[0]).name, *words[1:]]) if words else ""
