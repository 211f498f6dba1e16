"""Reports of runs, comparisons, fleets, traces, advice and plans for people and scripts. Needs files, never a device.

A subject becomes a `Document`, and `write` writes any document in any format that fits it. All but the registry of
formats is loaded when it is first asked for: commands ask which formats there are before they know what they will do.
"""

from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from isthmus.errors import IsthmusError, ReportFailed
from isthmus.installing import OURS
from isthmus.report.formats import Format, format_named, format_names, format_of_suffix, formats_for

if TYPE_CHECKING:
    from isthmus.document.document import Document
    from isthmus.report.acceleration import acceleration_document
    from isthmus.report.advice import advice_document
    from isthmus.report.calibration import calibration_document
    from isthmus.report.check import check_data, check_document, check_line
    from isthmus.report.comparison.document import comparison_document
    from isthmus.report.figures import figure_picture, figure_titles
    from isthmus.report.fleet.document import fleet_document
    from isthmus.report.fleet.words import odd_names
    from isthmus.report.plan import plan_document
    from isthmus.report.runs import runs_document
    from isthmus.report.screen import screen_document
    from isthmus.report.sources import sources_document
    from isthmus.report.trace.document import trace_document
    from isthmus.report.vega import prepare_page

__all__ = [
    "Format",
    "acceleration_document",
    "advice_document",
    "calibration_document",
    "check_data",
    "check_document",
    "check_line",
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
    "page_title",
    "plan_document",
    "prepare_page",
    "runs_document",
    "screen_document",
    "sources_document",
    "trace_document",
    "write",
]

_HOMES = {
    "acceleration_document": "acceleration",
    "advice_document": "advice",
    "calibration_document": "calibration",
    "check_data": "check",
    "check_document": "check",
    "check_line": "check",
    "comparison_document": "comparison.document",
    "figure_picture": "figures",
    "figure_titles": "figures",
    "fleet_document": "fleet.document",
    "odd_names": "fleet.words",
    "plan_document": "plan",
    "prepare_page": "vega",
    "runs_document": "runs",
    "screen_document": "screen",
    "sources_document": "sources",
    "trace_document": "trace.document",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def write(document: "Document", format_name: str, out: IO[Any]) -> None:
    """Write a document to `out`, a text file, or a binary one for a binary format.

    Raises UsageError where the format does not fit the document, and ReportFailed where its renderer fails.
    """
    chosen = format_named(document.kind, format_name)
    try:
        chosen.renderer().write(document, out)
    except (IsthmusError, OSError, MemoryError):
        raise
    except ModuleNotFoundError as error:
        raise ReportFailed(
            f"the {format_name} report cannot be made without the package {error.name}, which is not installed; "
            f"{OURS} brings it; what was measured is kept"
        ) from error
    except Exception as error:
        raise ReportFailed(
            f"the {format_name} report cannot be made: {type(error).__name__}: {error}; what was measured is kept, and "
            "another format may serve: this is a fault of Isthmus, please report it"
        ) from error


def page_title(document: "Document") -> str:
    """What the HTML page of a document has for its title, and of no other: it names the runs."""
    from markupsafe import escape

    from isthmus.messages import plain

    return plain(f"<title>Isthmus: {escape('; '.join(document.title.splitlines()))}</title>")


def page_path(run_path: Path) -> Path:
    """Where the HTML page of a run file goes unless told otherwise: beside it, with the suffix ``.html``."""
    plain = run_path.with_suffix("") if run_path.suffix == ".gz" else run_path
    return plain.with_suffix(".html")
