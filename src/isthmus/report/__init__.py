"""Reports of runs, comparisons, traces and advice for people and scripts. Needs files, never a device."""

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal, TextIO

from isthmus.advice import Advice
from isthmus.compare import Checkup, Comparison
from isthmus.errors import UsageError
from isthmus.fleet import Survey
from isthmus.record import Run
from isthmus.report.blocks.blocks import Block
from isthmus.trace import Trace

__all__ = [
    "ADVICE_FORMATS",
    "COMPARISON_FORMATS",
    "FLEET_FORMATS",
    "FORMATS",
    "TRACE_FORMATS",
    "check_parquet",
    "figure_picture",
    "figure_titles",
    "odd_names",
    "page_path",
    "prepare_page",
    "write",
    "write_advice",
    "write_comparison",
    "write_fleet",
    "write_fleet_parquet",
    "write_trace",
]

FORMATS = ("terminal", "csv", "markdown", "html")
COMPARISON_FORMATS = ("terminal", "markdown", "json", "html")
TRACE_FORMATS = ("terminal", "markdown", "csv", "json", "chrome", "html")
ADVICE_FORMATS = ("terminal", "markdown", "json", "html")

FLEET_FORMATS = ("terminal", "markdown", "json", "html", "csv", "prometheus", "slurm", "kubectl")


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
    from isthmus.report.comparison.document import document, page_only

    match format_name:
        case "terminal":
            from isthmus.report.comparison import terminal as comparison_terminal

            comparison_terminal.write(document(shown), out)
        case "markdown":
            from isthmus.report.comparison import markdown as comparison_markdown

            comparison_markdown.write(document(shown), out)
        case "json":
            from isthmus.report.comparison import json as comparison_json

            comparison_json.write(shown, out)
        case "html":
            from isthmus.report.comparison import html as comparison_html

            comparison_html.write(document(shown), page_only(shown), out)
        case _:
            raise UsageError(f"no such format: {format_name!r}; there are {', '.join(COMPARISON_FORMATS)}")


def write_trace(trace: Trace, format_name: str, out: TextIO, *, advice: Advice | None = None) -> None:
    """Write what a trace holds to `out` in one of TRACE_FORMATS; those with sentences end with the advice, if any.

    Raises UsageError for another format.
    """
    match format_name:
        case "csv":
            from isthmus.report.trace import csv as trace_csv

            trace_csv.write(trace, out)
        case "json":
            from isthmus.report.trace import json as trace_json

            trace_json.write(trace, out)
        case "chrome":
            from isthmus.report.trace import chrome as trace_chrome

            trace_chrome.write(trace, out)
        case _:
            from isthmus.report.advice.blocks import finding_blocks, short_blocks
            from isthmus.report.trace.blocks import trace_blocks

            # At the end of a program's own output there is room for little.
            of_advice = short_blocks if format_name == "terminal" else finding_blocks
            blocks = chain(trace_blocks(trace), of_advice(advice) if advice else ())
            _write_blocks(blocks, format_name, TRACE_FORMATS, out)


def write_advice(
    advice: Advice, traces: Sequence[Trace], format_name: str, out: TextIO, *, snippet: str | None = None
) -> None:
    """Write the advice on traces to `out` in one of ADVICE_FORMATS; the page shows the traces, too.

    `snippet` names the only language in which changes are shown as code. Raises UsageError for another format.
    """
    if format_name == "json":
        from isthmus.report.advice import json as advice_json

        advice_json.write(advice, traces, out)
        return
    from isthmus.report.advice.blocks import advice_blocks

    brief = format_name == "terminal"
    _write_blocks(advice_blocks(advice, traces, snippet, brief=brief), format_name, ADVICE_FORMATS, out)


def write_fleet(survey: Survey, format_name: str, out: TextIO) -> None:
    """Write what was found in a fleet to `out` in one of FLEET_FORMATS.

    Raises UsageError for another format.
    """
    match format_name:
        case "json":
            from isthmus.report.fleet import json as fleet_json

            fleet_json.write(survey, out)
        case "csv":
            from isthmus.report.fleet import table as fleet_table

            fleet_table.write(survey, out)
        case "prometheus":
            from isthmus.report.fleet import prometheus as fleet_prometheus

            fleet_prometheus.write(survey, out)
        case "slurm" | "kubectl":
            from isthmus.report.fleet import suspects as fleet_suspects

            fleet_suspects.write(survey, format_name, out)
        case _:
            from isthmus.report.fleet.blocks import fleet_blocks

            blocks = fleet_blocks(survey, brief=format_name == "terminal", with_map=format_name == "html")
            _write_blocks(blocks, format_name, FLEET_FORMATS, out)


def check_parquet() -> None:
    """Raise UsageError where Parquet cannot be written."""
    from isthmus.report.fleet import table as fleet_table

    fleet_table.check_parquet()


def odd_names(survey: Survey) -> str:
    """That some suspects of a fleet are in no list for a cluster's tools; empty where all are."""
    from isthmus.report.fleet import words as fleet_words

    return fleet_words.odd_names(survey)


def write_fleet_parquet(survey: Survey, path: Path) -> None:
    """Write every figure of a fleet as a Parquet file.

    Raises UsageError where pyarrow is not installed.
    """
    from isthmus.report.fleet import table as fleet_table

    fleet_table.write_parquet(survey, path)


def _write_blocks(blocks: Iterable[Block], format_name: str, known: Sequence[str], out: TextIO) -> None:
    match format_name:
        case "terminal":
            from isthmus.report.blocks import terminal as blocks_terminal

            blocks_terminal.write(blocks, out)
        case "markdown":
            from isthmus.report.blocks import markdown as blocks_markdown

            blocks_markdown.write(blocks, out)
        case "html":
            from isthmus.report.blocks import html as blocks_html

            blocks_html.write(blocks, out)
        case _:
            raise UsageError(f"no such format: {format_name!r}; there are {', '.join(known)}")


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
