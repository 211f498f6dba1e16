"""Reports of runs for people and scripts: terminal, CSV, Markdown and one HTML page. Needs files, never a device."""

from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from isthmus.errors import UsageError
from isthmus.record import Run

__all__ = ["FORMATS", "page_path", "prepare_page", "write"]

FORMATS = ("terminal", "csv", "markdown", "html")


def write(runs: Sequence[Run], format_name: str, out: TextIO) -> None:
    """Write one report of all the runs to `out` in one of FORMATS.

    Raises UsageError for another format.
    """
    # Each format needs other libraries, some of which take longer to load than the report takes to make.
    match format_name:
        case "terminal":
            from isthmus.report import terminal

            terminal.write(runs, out)
        case "csv":
            from isthmus.report import csv

            csv.write(runs, out)
        case "markdown":
            from isthmus.report import markdown

            markdown.write(runs, out)
        case "html":
            from isthmus.report import html

            html.write(runs, out)
        case _:
            raise UsageError(f"no such format: {format_name!r}; there are {', '.join(FORMATS)}")


def page_path(run_path: Path) -> Path:
    """Where the HTML page of a run file goes unless told otherwise: beside it, with the suffix ``.html``."""
    plain = run_path.with_suffix("") if run_path.suffix == ".gz" else run_path
    return plain.with_suffix(".html")


def prepare_page() -> None:
    """Make what every HTML page needs and the user's cache keeps: a second of work the first time, none later."""
    from isthmus.report.vega import script

    script()
