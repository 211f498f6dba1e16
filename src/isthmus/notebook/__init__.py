"""Isthmus in notebooks and scripts: measure, check and open runs, and hand their tables on."""

from isthmus.notebook.measured_run import MeasuredRun, open_run
from isthmus.notebook.measuring import check, measure

__all__ = ["MeasuredRun", "check", "measure", "open_run"]
