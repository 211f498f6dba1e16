"""The sections of a report and the glances of a first screen: for each experiment that runs hold, in their order."""

from collections.abc import Sequence

from isthmus.document.grid import excerpt
from isthmus.document.section import Glance, Section
from isthmus.record import Run
from isthmus.registry import EXPERIMENTS, Experiment, load


def sections(runs: Sequence[Run]) -> list[Section]:
    """What the runs hold, in reading order; an analysis gives None where no run holds its cases."""
    made = (load(experiment.section, ("section",)).section(runs) for experiment in EXPERIMENTS)
    return [section for section in made if section]


def glances(run: Run, only: str = "") -> list[tuple[str, Glance]]:
    """The few figures of each experiment that the run holds, or of one, with its name; in the order of reports.

    A brief experiment has a sentence in place of them.
    """
    named = (each for each in EXPERIMENTS if only in ("", each.name) and each.name not in run.brief)
    made = ((each.name, _glance(each, run)) for each in named)
    return [(name, glance) for name, glance in made if glance]


def _glance(experiment: Experiment, run: Run) -> Glance | None:
    if not experiment.glance_rows:
        picked: Glance | None = load(experiment.section, ("glance",)).glance(run)
        return picked
    section: Section | None = load(experiment.section, ("section",)).section([run])
    return Glance((excerpt(section.parts[0].grids[0], experiment.glance_rows),)) if section else None
