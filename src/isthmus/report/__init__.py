"""Reports of runs for people and scripts: terminal, CSV, Markdown and one HTML page. Needs files, never a device."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TextIO

from isthmus.compare import Checkup, Comparison
from isthmus.errors import UsageError
from isthmus.record import Run

__all__ = [
    "COMPARISON_FORMATS",
    "FORMATS",
    "figure_picture",
    "figure_titles",
    "page_path",
    "prepare_page",
    "write",
    "write_comparison",
]

FORMATS = ("terminal", "csv", "markdown", "html")
COMPARISON_FORMATS = ("terminal", "markdown", "json", "html")


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


def write_comparison(shown: Comparison | Checkup, format_name: str, out: TextIO) -> None:
    """Write a comparison of two runs, or of a run and a reference, to `out` in one of COMPARISON_FORMATS.

    Raises UsageError for another format.
    """
    from isthmus.report.comparison_document import document, page_only

    match format_name:
        case "terminal":
            from isthmus.report import comparison_terminal

            comparison_terminal.write(document(shown), out)
        case "markdown":
            from isthmus.report import comparison_markdown

            comparison_markdown.write(document(shown), out)
        case "json":
            from isthmus.report import comparison_json

            comparison_json.write(shown, out)
        case "html":
            from isthmus.report import comparison_html

            comparison_html.write(document(shown), page_only(shown), out)
        case _:
            raise UsageError(f"no such format: {format_name!r}; there are {', '.join(COMPARISON_FORMATS)}")


def page_path(run_path: Path) -> Path:
    """Where the HTML page of a run file goes unless told otherwise: beside it, with the suffix ``.html``."""
    plain = run_path.with_suffix("") if run_path.suffix == ".gz" else run_path
    return plain.with_suffix(".html")


def prepare_page() -> None:
    """Make what every HTML page needs and the user's cache keeps: a second of work the first time, none later."""
    from isthmus.report.vega import script

    script()


def figure_titles(runs: Sequence[Run]) -> dict[str, str]:
    """The names of all figures in reading order, each with what it shows."""
    from isthmus.report.figures import figures

    return {each.name: f"{each.heading}: {each.chart.title}" for each in figures(runs)}


def figure_picture(runs: Sequence[Run], name: str, kind: Literal["svg", "png"]) -> bytes:
    """The figure of this name, which must be one of `figure_titles`, as a picture."""
    from isthmus.report.figures import figures, picture

    return picture(next(each for each in figures(runs) if each.name == name), kind)
