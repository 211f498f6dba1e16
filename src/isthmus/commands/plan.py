"""`isthmus plan`: the fastest way to move what a program has to move, as measured on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from isthmus.commands._choices import DeviceOption, JsonOption, LanguageOption, OutputOption, language_of
from isthmus.commands._output import format_of, format_option, write_report
from isthmus.errors import UsageError


def plan(
    size: Annotated[
        str | None, typer.Option("--bytes", metavar="SIZE", help="A buffer or an array: 64MiB.", show_default=False)
    ] = None,
    direction: Annotated[
        str | None, typer.Option("--direction", metavar="WAY", help="h2d (the default), d2h, or both, there and back.")
    ] = None,
    uses: Annotated[
        int | None, typer.Option("--uses", metavar="N", min=1, help="How often the buffer is moved.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="WHERE",
            help="Where the host's data is: pageable memory, pinned memory, or new, for the plan to choose.",
        ),
    ] = None,
    pieces: Annotated[
        int | None, typer.Option("--pieces", metavar="N", min=1, help="Pieces that lie apart; with --piece-bytes.")
    ] = None,
    piece_bytes: Annotated[
        str | None, typer.Option("--piece-bytes", metavar="SIZE", help="Size of each piece.")
    ] = None,
    scattered: Annotated[
        bool, typer.Option("--scattered", help="Pieces lie anywhere on both sides (the default).")
    ] = False,
    layout: Annotated[
        str | None,
        typer.Option(
            "--layout",
            metavar="HOST:DEVICE",
            help="Layout of the pieces on either side: contiguous, strided or scattered.",
        ),
    ] = None,
    rows: Annotated[
        int | None, typer.Option("--rows", metavar="N", min=1, help="Rows of an array; with --width and --pitch.")
    ] = None,
    width: Annotated[
        str | None, typer.Option("--width", metavar="SIZE", help="Bytes that are moved of each row.")
    ] = None,
    pitch: Annotated[
        str | None, typer.Option("--pitch", metavar="SIZE", help="From row to row on the host: 240KiB.")
    ] = None,
    device_pitch: Annotated[
        str | None,
        typer.Option("--device-pitch", metavar="SIZE", help="From row to row on the device; the width by default."),
    ] = None,
    touched: Annotated[
        float | None,
        typer.Option(
            "--touched", metavar="SHARE", help="Share of the array that the device touches: 0.3; with --bytes."
        ),
    ] = None,
    stride: Annotated[
        str | None,
        typer.Option("--stride", metavar="SIZE", help="The device touches one double every so many bytes: 256KiB."),
    ] = None,
    compute: Annotated[
        str | None,
        typer.Option("--compute", metavar="TIME", help="Work between copy in and copy out, in all: 5ms; with --bytes."),
    ] = None,
    chunks: Annotated[
        str | None, typer.Option("--chunks", metavar="N", help="Chunks that overlap: a number, or auto (the default).")
    ] = None,
    run_file: Annotated[
        Path | None, typer.Option("--run", metavar="FILE", help="Plan with this run instead of this machine's newest.")
    ] = None,
    device: DeviceOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the arithmetic of every way.")] = False,
    snippet: Annotated[
        str | None,
        typer.Option(
            "--snippet",
            metavar="LANGUAGE",
            help="Show the calls of the fastest way: cuda, torch, cupy, isthmus or opencl.",
        ),
    ] = None,
    format_name: Annotated[str | None, format_option("plan")] = None,
    as_json: JsonOption = False,
    output: OutputOption = None,
    lang: LanguageOption = "en",
) -> None:
    """Name the fastest way to move what you describe, with the time to expect, the next best, and why."""
    from isthmus.commands._plan_needs import need_of
    from isthmus.commands._run_choice import run_for
    from isthmus.language import speaking
    from isthmus.plan import SNIPPET_LANGUAGES, answer, wanted_experiments
    from isthmus.report import plan_document

    options = {
        "--bytes": size,
        "--direction": direction,
        "--uses": uses,
        "--source": source,
        "--pieces": pieces,
        "--piece-bytes": piece_bytes,
        "--scattered": scattered,
        "--layout": layout,
        "--rows": rows,
        "--width": width,
        "--pitch": pitch,
        "--device-pitch": device_pitch,
        "--touched": touched,
        "--stride": stride,
        "--compute": compute,
        "--chunks": chunks,
    }
    need = need_of(options)  # Finds contradictions before anything is read.
    chosen, language = format_of("plan", format_name, output, as_json=as_json), language_of(lang)
    if snippet is not None and snippet not in SNIPPET_LANGUAGES:
        raise UsageError(f"no snippets in {snippet!r}; expected one of {', '.join(SNIPPET_LANGUAGES)}")
    with speaking(language):
        run = run_for(run_file, device, wanted_experiments(need))
        found = answer(run, need)
        write_report(plan_document(run, found, explain=explain, snippet=snippet), chosen, output)
    if not found.ways:
        lacking = found.extend or f"isthmus measure {' '.join(wanted_experiments(need))}"
        raise UsageError(f"run {run.run} cannot price any way to do that; measure what it lacks: {lacking}")
