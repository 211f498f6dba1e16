"""`isthmus report`: shows saved runs as a terminal table, CSV, Markdown, one HTML page, or a single figure."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.commands._choices import LanguageOption, language_of, one_of, option
from isthmus.commands._output import format_of, format_option, save, unlike_inputs, write_report
from isthmus.errors import RunFileError, UsageError

if TYPE_CHECKING:
    from isthmus.record import Run

# More side by side nobody can read.
_MOST_RUNS = 8


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN",
            help="Run files, .json or .json.gz, or folders of them; 8 runs at most, isthmus fleet takes more.",
            show_default=False,
        ),
    ],
    format_name: Annotated[str | None, format_option("runs")] = None,
    output: Annotated[
        Path | None,
        option(
            "--output",
            "FILE",
            "Write here instead of to standard output. HTML goes beside the first run file by default.",
            "-o",
        ),
    ] = None,
    language: LanguageOption = "en",
    list_figures: Annotated[bool, typer.Option("--figures", help="List the names of all figures.")] = False,
    figure: Annotated[
        str,
        option("--figure", "NAME", "Write one figure to the -o file, .svg or .png, else beside the run file as SVG."),
    ] = "",
) -> None:
    """Show one or several saved runs; works on any machine."""
    from isthmus.language import speaking

    spoken = language_of(language)
    if (list_figures or figure) and format_name:
        raise UsageError("--figures and --figure take no --format; a figure is .svg or .png by the suffix of -o")
    found = _read(runs)
    loaded = [run for _, run in found]
    unlike_inputs(output, (path for path, _ in found), "run files")
    chosen = format_of("runs", format_name, output) if not figure else ""
    with speaking(spoken):
        if list_figures:
            _list_figures(loaded)
        elif figure:
            _draw(loaded, figure, output or found[0][0].with_name(f"{figure}.svg"))
        else:
            _write(loaded, chosen, found[0][0], output)


def _read(places: Sequence[Path]) -> "list[tuple[Path, Run]]":
    """The runs in these files, and in all files of these folders that hold one; says which hold none."""
    from isthmus.record import read_run

    found = []
    for place in places:
        if not place.is_dir():
            found.append((place, read_run(place)))
            continue
        paths = sorted(path for path in place.rglob("*") if path.name.endswith((".json", ".json.gz")))
        if len(paths) > _MOST_RUNS:
            raise UsageError(
                f"{place}: {len(paths)} files, too many for one report, which shows {_MOST_RUNS} runs at most; see all "
                f"of them with: isthmus fleet {place}"
            )
        for path in paths:
            try:
                found.append((path, read_run(path)))
            except RunFileError as error:
                print(f"isthmus: left out: {error}", file=sys.stderr)
    if not found:
        raise UsageError(f"no run files in {', '.join(map(str, places))}; expected files that end in .json or .json.gz")
    return found


def _write(runs: "Sequence[Run]", chosen: str, first: Path, output: Path | None) -> None:
    from isthmus.report import page_path, runs_document

    if chosen == "html" and output is None:
        output = page_path(first)
    write_report(runs_document(runs), chosen, output)


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
    save(output, figure_picture(runs, name, "svg" if suffix == ".svg" else "png"))
