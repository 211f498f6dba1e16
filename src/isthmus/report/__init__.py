"""Reports of runs, comparisons, fleets, traces and advice for people and scripts. Needs files, never a device.

A subject becomes a `Document`, and `write` writes any document in any format that fits it. Everything else is loaded
when it is called: commands ask which formats there are before they know what they will do.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from isthmus.errors import IsthmusError, ReportFailed
from isthmus.report.formats import Format, format_named, format_names, format_of_suffix, formats_for

if TYPE_CHECKING:
    from isthmus.advice import Advice
    from isthmus.compare import Checkup, Comparison
    from isthmus.document.document import Document
    from isthmus.fleet import Survey
    from isthmus.record import Run
    from isthmus.trace import Trace

__all__ = [
    "Format",
    "advice_document",
    "comparison_document",
    "figure_picture",
    "figure_titles",
    "fleet_document",
    "format_named",
    "format_names",
    "format_of_suffix",
    "formats_for",
    "odd_names",
    "page_path",
    "prepare_page",
    "runs_document",
    "trace_document",
    "write",
]


def write(document: "Document", format_name: str, out: IO[Any]) -> None:
    """Write a document to `out`, a text file, or a binary one for a binary format.

    Raises UsageError where the format does not fit the document, and ReportFailed where its renderer fails.
    """
    chosen = format_named(document.kind, format_name)
    try:
        chosen.renderer().write(document, out)
    except (IsthmusError, OSError, MemoryError):
        raise
    except Exception as error:
        raise ReportFailed(
            f"the {format_name} report cannot be made: {type(error).__name__}: {error}; what was measured is kept, and "
            "another format may serve: this is a fault of Isthmus, please report it"
        ) from error


def runs_document(runs: "Sequence[Run]") -> "Document":
    """One report of all the runs, in the language spoken now, as are all of these."""
    from isthmus.report import runs as module

    return module.runs_document(runs)


def comparison_document(shown: "Comparison | Checkup") -> "Document":
    """Two runs side by side, or a run and a reference."""
    from isthmus.report.comparison import document as module

    return module.comparison_document(shown)


def trace_document(trace: "Trace", advice: "Advice | None" = None) -> "Document":
    """What a trace holds, and the advice on it, if any."""
    from isthmus.report.trace import document as module

    return module.trace_document(trace, advice)


def advice_document(advice: "Advice", traces: "Sequence[Trace]", snippet: str | None = None) -> "Document":
    """The advice on traces; `snippet` names the only language in which changes are shown as code."""
    from isthmus.report import advice as module

    return module.advice_document(advice, traces, snippet)


def fleet_document(survey: "Survey") -> "Document":
    """What was found in a fleet."""
    from isthmus.report.fleet import document as module

    return module.fleet_document(survey)


def odd_names(survey: "Survey") -> str:
    """That some suspects of a fleet are in no list for a cluster's tools; empty where all are."""
    from isthmus.report.fleet import words

    return words.odd_names(survey)


def page_path(run_path: Path) -> Path:
    """Where the HTML page of a run file goes unless told otherwise: beside it, with the suffix ``.html``."""
    plain = run_path.with_suffix("") if run_path.suffix == ".gz" else run_path
    return plain.with_suffix(".html")


def prepare_page() -> None:
    """Make what every HTML page needs and the user's cache keeps: a second of work the first time, none later."""
    from isthmus.report.vega import script

    script()


def figure_titles(runs: "Sequence[Run]") -> dict[str, str]:
    """The names of all figures in reading order, each with what it shows."""
    from isthmus.report.figures import figures

    return {each.name: f"{each.heading}: {each.chart.title}" for each in figures(runs)}


def figure_picture(runs: "Sequence[Run]", name: str, kind: Literal["svg", "png"]) -> bytes:
    """The figure of this name, which must be one of `figure_titles`, as a picture."""
    from isthmus.report.figures import figures, picture

    return picture(next(each for each in figures(runs) if each.name == name), kind)
