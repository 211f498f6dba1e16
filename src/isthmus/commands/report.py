"""`isthmus report`: shows saved runs as a first screen, all tables, CSV, Markdown, an HTML page, or a single figure."""

import io
import os
import pydoc
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from isthmus.commands import _completions
from isthmus.commands._choices import ForceOption, JsonOption, LanguageOption, flag, language_of, one_of, option
from isthmus.commands._output import format_of, format_option, save, unlike_inputs, where_more_is, write_report
from isthmus.commands._own_files import check_replaceable, free_path, marked
from isthmus.commands._progress import working_on
from isthmus.errors import RunFileError, UsageError
from isthmus.messages import to_stderr

if TYPE_CHECKING:
    from isthmus.record import Run

# More side by side cannot be read.
_MOST_RUNS = 8


def report(
    runs: list[Path] | None = typer.Argument(
        None,
        metavar="RUN",
        help="Run files, .json or .json.gz, or folders of them; 8 runs at most, isthmus fleet takes more.",
        show_default=False,
        autocompletion=_completions.runs,
    ),
    format_name: str | None = format_option("runs"),
    everything: bool = flag("--all", "Show all tables of the run, not its first screen; in a pager on a terminal."),
    as_json: JsonOption = False,
    output: Path | None = option(
        "--output",
        "FILE",
        "Write here instead of to standard output. HTML goes beside the first run file by default.",
        "-o",
    ),
    force: ForceOption = False,
    language: LanguageOption = "",
    publications: bool = flag("--sources", "Show the five publications that Isthmus repeats, by which commands."),
    list_figures: bool = flag("--figures", "List the names of all figures."),
    figure: str = option(
        "--figure",
        "NAME",
        "Write one figure to the -o file, .svg or .png, else beside the run file as SVG.",
        default="",
    ),
) -> None:
    """Show one or several saved runs; works on any machine."""
    from isthmus.language import speaking
    from isthmus.report.screen import screen_document
    from isthmus.report.sources import sources_document

    spoken = language_of(language)
    if (list_figures or figure) and (format_name or as_json):
        raise UsageError(
            "--figures and --figure take no --format and no --json; a figure is .svg or .png by the suffix of -o"
        )
    if publications:
        if runs:
            raise UsageError(
                "--sources takes no run; isthmus report RUN --all has the published figures next to its own"
            )
        chosen = format_of("sources", format_name, output, as_json=as_json, force=force)
        with speaking(spoken):
            write_report(sources_document(), chosen, output)
        return
    if not runs:
        raise UsageError("no run to show; name run files, or --sources for the publications that Isthmus repeats")
    known = _read(runs)
    loaded = [run for _, run in known]
    unlike_inputs(output, (path for path, _ in known), "run files")
    if figure:
        chosen = _picture_of(output, force)
    else:
        chosen = format_of("runs", format_name, output, as_json=as_json, force=force)
    with speaking(spoken):
        if list_figures:
            _list_figures(loaded)
        elif figure:
            _draw(loaded, figure, chosen, known[0][0], output)
        elif everything or format_name or output or as_json or len(loaded) > 1:
            _write(loaded, chosen, known[0][0], output)
        else:
            write_report(screen_document(loaded[0]), "terminal", None)
            print(f"\n{where_more_is(known[0][0], None)}")


def _read(places: Sequence[Path]) -> "list[tuple[Path, Run]]":
    """The runs in these files, and in all files of these folders that hold one; says which hold none."""
    from isthmus.commands._run_choice import read_named
    from isthmus.record import read_run

    runs = []
    for place in places:
        if not place.is_dir():
            runs.append((place, read_named(place)))
            continue
        paths = sorted(path for path in place.rglob("*") if path.name.endswith((".json", ".json.gz")))
        if len(paths) > _MOST_RUNS:
            raise UsageError(
                f"{place}: {len(paths)} files, too many for one report, which shows {_MOST_RUNS} runs at most; see all "
                f"of them with: isthmus fleet {place}"
            )
        for path in paths:
            try:
                runs.append((path, read_run(path)))
            except RunFileError as error:
                to_stderr(f"isthmus: left out: {error}")
    if not runs:
        raise UsageError(f"no run files in {', '.join(map(str, places))}; expected files that end in .json or .json.gz")
    return runs


class _Screen(io.StringIO):
    """What a pager is to show: as wide and as coloured as the terminal."""

    def isatty(self) -> bool:
        return True


def _write(runs: "Sequence[Run]", chosen: str, first: Path, output: Path | None) -> None:
    from isthmus.report import page_path, page_title
    from isthmus.report.runs import runs_document

    with working_on("making tables and charts"):
        document = runs_document(runs)
    if chosen == "html" and output is None:
        output = free_path(page_path(first), page_title(document))
    if chosen == "terminal" and output is None and sys.stdin.isatty() and sys.stdout.isatty():
        from isthmus.report import write

        text = _Screen()
        write(document, "terminal", text)
        # As git does: less ends at once where one screen holds all, and shows colours.
        os.environ.setdefault("LESS", "FRX")
        pydoc.pager(text.getvalue())
    else:
        write_report(document, chosen, output)


def _list_figures(runs: "Sequence[Run]") -> None:
    from isthmus.report.figures import figure_titles

    titles = figure_titles(runs)
    # A few names are three times as long, and would push all titles off a terminal.
    wide = min(max(map(len, titles), default=0), 40)
    for name, title in titles.items():
        print(f"{name:{wide}}  {title}")


def _picture_of(output: Path | None, force: bool) -> str:
    suffix = output.suffix.lower() if output else ".svg"
    if suffix not in (".svg", ".png"):
        raise UsageError(f"{output}: a figure is written as .svg or .png; name such a file with -o")
    if output:
        check_replaceable(output, force=force)
    return suffix[1:]


def _draw(runs: "Sequence[Run]", name: str, form: str, first: Path, output: Path | None) -> None:
    from isthmus.report.figures import figure_picture, figure_titles

    known = list(figure_titles(runs))
    if not known:
        raise UsageError("these runs have no figures: nothing was measured that a chart would show")
    one_of(name, known, "figure", listed_by="isthmus report RUN --figures")
    about = f"{name} of {', '.join(run.run for run in runs)}"
    picture = marked(figure_picture(runs, name, "svg" if form == "svg" else "png"), form, about)
    save(output or free_path(first.with_name(f"{name}.svg"), about), picture)
