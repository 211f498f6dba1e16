"""`isthmus plan`: the fastest method to move what a program has to move, measured on the spot."""

from isthmus.commands import _completions
from isthmus.commands._choices import (
    DeviceOption,
    ForceOption,
    JsonOption,
    LanguageOption,
    OutputOption,
    flag,
    language_of,
    option,
    whole_number,
)
from isthmus.commands._output import format_of, format_option, write_report
from isthmus.errors import UsageError


def plan(
    size: str | None = option("--bytes", "SIZE", "A buffer or an array: 64MiB."),
    direction: str | None = option("--direction", "WAY", "h2d (the default), d2h, or both, there and back."),
    uses: int | None = option("--uses", "N", "How often the buffer is moved.", parser=whole_number(1)),
    source: str | None = option(
        "--source", "WHERE", "Where the host's data is: pageable memory, pinned memory, or new, for the plan to choose."
    ),
    pieces: int | None = option("--pieces", "N", "Pieces that lie apart; with --piece-bytes.", parser=whole_number(1)),
    piece_bytes: str | None = option("--piece-bytes", "SIZE", "Size of each piece."),
    scattered: bool = flag("--scattered", "Pieces lie anywhere on both sides (the default)."),
    layout: str | None = option(
        "--layout", "HOST:DEVICE", "Layout of the pieces on either side: contiguous, strided or scattered."
    ),
    rows: int | None = option("--rows", "N", "Rows of an array; with --width and --pitch.", parser=whole_number(1)),
    width: str | None = option("--width", "SIZE", "Bytes that are moved of each row."),
    pitch: str | None = option("--pitch", "SIZE", "From row to row on the host: 240KiB."),
    device_pitch: str | None = option("--device-pitch", "SIZE", "From row to row on the device; the width by default."),
    touched: str | None = option(
        "--touched", "SHARE", "Share of the array that the device touches: 30%; with --bytes."
    ),
    stride: str | None = option("--stride", "SIZE", "The device touches one double every so many bytes: 256KiB."),
    compute: str | None = option("--compute", "TIME", "Work between copy in and copy out, in all: 5ms; with --bytes."),
    cpu: str | None = option("--cpu", "TIME", "What the CPU takes for that work: says whether to move it at all."),
    chunks: str | None = option("--chunks", "N", "Chunks that overlap: a number, or auto (the default)."),
    run: str | None = option(
        "--run",
        "FILE",
        "Predict from this run, or reference:NAME, instead of measuring on this machine.",
        autocompletion=_completions.runs,
    ),
    device: DeviceOption = None,
    explain: bool = flag("--explain", "Show what is not possible, and the steps of predictions."),
    snippet: str | None = option(
        "--snippet",
        "LANGUAGE",
        "Show the calls of the fastest way: cuda, torch, cupy, isthmus or opencl.",
        autocompletion=_completions.snippets,
    ),
    format_name: str | None = format_option("plan"),
    as_json: JsonOption = False,
    output: OutputOption = None,
    force: ForceOption = False,
    lang: LanguageOption = "",
) -> None:
    """Measure the methods to move what you describe, within 5 s, and name the fastest with its calls."""
    from isthmus.commands._plan_needs import need_of
    from isthmus.commands._run_choice import read_named
    from isthmus.experiment.contenders.measure import measure_ways
    from isthmus.language import speaking
    from isthmus.machine.devices import open_device
    from isthmus.plan import SNIPPET_LANGUAGES, answer, measured_plan
    from isthmus.report.plan import plan_document

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
        "--cpu": cpu,
        "--chunks": chunks,
    }
    need = need_of(options)  # Finds contradictions before anything is read.
    chosen, language = format_of("plan", format_name, output, as_json=as_json, force=force), language_of(lang)
    if snippet is not None and snippet not in SNIPPET_LANGUAGES:
        raise UsageError(f"no snippets in {snippet!r}; expected one of {', '.join(SNIPPET_LANGUAGES)}")
    with speaking(language):
        if run is not None:
            if device is not None:
                raise UsageError("--run says where times are from and --device where to measure; leave one of them out")
            plan = answer(read_named(run), need)
        else:
            opened = open_device(device, bind=True)
            plan = measured_plan(need, measure_ways(opened, need), opened.description)
        write_report(plan_document(plan, explain=explain, snippet=snippet), chosen, output)
    if plan.methods:
        return
    if run is not None:
        lacking = f"isthmus measure {' '.join(need.experiments)}"
        raise UsageError(f"{run} cannot price any way to do that; measure what it lacks: {lacking}")
    raise UsageError("none of the ways to do that could be measured on this device; the reasons stand above")
