"""Cells without a figure: of what was not measured, was skipped, or moved data that did not arrive."""

from isthmus.document.grid import Cell
from isthmus.language import say


def missing(reason: str = "") -> Cell:
    """A dash; pointing at it shows the reason, which is that nobody measured it unless another is given."""
    return Cell("-", state="missing", detail=reason or say("labels.not_measured"))


def skipped(reason: str) -> Cell:
    """What was left out when it was measured, with the reason in the words of the run file."""
    return Cell(say("labels.cell_skipped"), state="skipped", detail=reason)


def failed(reason: str = "") -> Cell:
    """Data that was wrong, on arrival unless another reason is given: a figure would be one of something else."""
    return Cell(say("labels.cell_failed"), state="failed", detail=reason or say("labels.wrong_data"))
