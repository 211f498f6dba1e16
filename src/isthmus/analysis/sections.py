"""The sections of a report: one for each experiment that the runs hold, in the order of the registry."""

from collections.abc import Sequence

from isthmus.document.section import Section
from isthmus.record import Run
from isthmus.registry import EXPERIMENTS, load


def sections(runs: Sequence[Run]) -> list[Section]:
    """What the runs hold, in reading order; an analysis gives None where no run holds its cases."""
    found = (load(experiment.section, ("section",)).section(runs) for experiment in EXPERIMENTS)
    return [section for section in found if section]
