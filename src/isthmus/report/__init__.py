"""Reports of runs, comparisons, fleets, traces, advice and plans for people and scripts. Needs files, never a device.

A subject becomes a `Document` in a module of its own, and `write` writes any document in any format that fits it.
"""

from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from isthmus.errors import IsthmusError, ReportFailed
from isthmus.installing import OURS
from isthmus.report.formats import format_named, format_names, format_of_suffix, formats_for

if TYPE_CHECKING:
    from isthmus.document.document import Document

__all__ = ["format_named", "format_names", "format_of_suffix", "formats_for", "page_path", "page_title", "write"]


def write(document: "Document", format_name: str, out: IO[Any]) -> None:
    """Write a document to `out`, a text file.

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
