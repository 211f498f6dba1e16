"""`isthmus report`: shows saved runs as a terminal table, CSV, Markdown or one HTML page."""

import difflib
import io
import sys
from pathlib import Path
from typing import Annotated

import typer

from isthmus.errors import UsageError

__all__ = ["report"]

_SUFFIXES = {".csv": "csv", ".htm": "html", ".html": "html", ".markdown": "markdown", ".md": "markdown"}


def report(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Run files, .json or .json.gz.", show_default=False)
    ],
    format_name: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="terminal, csv, markdown or html; by default what the suffix of the output says, else terminal.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write here instead of to standard output. HTML goes beside the first run file by default.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show one or several saved runs; works on any machine."""
    from isthmus.record import read_run
    from isthmus.report import page_path, write

    chosen = _format(format_name, output)
    loaded = [read_run(path) for path in runs]
    if chosen == "html" and output is None:
        output = page_path(runs[0])
    if output is None:
        write(loaded, chosen, sys.stdout)
        return
    if any(path.resolve() == output.resolve() for path in runs):
        raise UsageError(f"{output}: is one of the run files and would be overwritten; name another file with -o")
    text = io.StringIO()
    write(loaded, chosen, text)
    _save(output, text.getvalue())
    print(output)


def _format(name: str | None, output: Path | None) -> str:
    from isthmus.report import FORMATS

    if name is None:
        return _SUFFIXES.get(output.suffix.lower(), "terminal") if output else "terminal"
    if name not in FORMATS:
        near = difflib.get_close_matches(name.lower(), FORMATS, 1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise UsageError(f"no such format: {name!r}; {hint}expected one of {', '.join(FORMATS)}")
    return name


def _save(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}; name another file with -o") from error
