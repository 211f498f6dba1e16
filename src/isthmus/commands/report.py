"""`isthmus report`: shows saved runs as a terminal table, CSV, Markdown, one HTML page, or a single figure."""

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.commands._choices import language_of, one_of
from isthmus.errors import UsageError

if TYPE_CHECKING:
    from isthmus.record import Run

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
    language: Annotated[
        str, typer.Option("--lang", metavar="LANGUAGE", help="Language of the sentences: en, ja, zh.")
    ] = "en",
    list_figures: Annotated[bool, typer.Option("--figures", help="List the names of all figures.")] = False,
    figure: Annotated[
        str,
        typer.Option(
            "--figure",
            metavar="NAME",
            help="Write one figure to the -o file, .svg or .png, else beside the run file as SVG.",
            show_default=False,
        ),
    ] = "",
) -> None:
    """Show one or several saved runs; works on any machine."""
    from isthmus.language import speaking
    from isthmus.record import read_run

    spoken = language_of(language)
    if (list_figures or figure) and format_name:
        raise UsageError("--figures and --figure take no --format; a figure is .svg or .png by the suffix of -o")
    chosen = _format(format_name, output) if not figure else ""
    loaded = [read_run(path) for path in runs]
    if output and any(path.resolve() == output.resolve() for path in runs):
        raise UsageError(f"{output}: is one of the run files and would be overwritten; name another file with -o")
    with speaking(spoken):
        if list_figures:
            _list_figures(loaded)
        elif figure:
            _draw(loaded, figure, output or runs[0].with_name(f"{figure}.svg"))
        else:
            _write(loaded, chosen, runs[0], output)


def _write(runs: "Sequence[Run]", chosen: str, first: Path, output: Path | None) -> None:
    from isthmus.report import page_path, write

    if chosen == "html" and output is None:
        output = page_path(first)
    if output is None:
        write(runs, chosen, sys.stdout)
        return
    text = io.StringIO()
    write(runs, chosen, text)
    _save(output, text.getvalue().encode())


def _list_figures(runs: "Sequence[Run]") -> None:
    from isthmus.report import figure_titles

    found = figure_titles(runs)
    wide = max(map(len, found), default=0)
    for name, title in found.items():
        print(f"{name:{wide}}  {title}")


def _draw(runs: "Sequence[Run]", name: str, output: Path) -> None:
    from isthmus.report import figure_picture, figure_titles

    suffix = output.suffix.lower()
    if suffix not in (".svg", ".png"):
        raise UsageError(f"{output}: a figure is written as .svg or .png; name such a file with -o")
    known = list(figure_titles(runs))
    if not known:
        raise UsageError("these runs have no figures: nothing was measured that a chart would show")
    one_of(name, known, "figure", listed_by="isthmus report RUN --figures")
    _save(output, figure_picture(runs, name, "svg" if suffix == ".svg" else "png"))


def _format(name: str | None, output: Path | None) -> str:
    from isthmus.report import FORMATS

    if name is None:
        return _SUFFIXES.get(output.suffix.lower(), "terminal") if output else "terminal"
    return one_of(name, FORMATS, "format")


def _save(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}; name another file with -o") from error
    print(path)
