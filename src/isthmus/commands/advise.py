"""`isthmus advise`: what to change in a program that was traced, and what each change would gain."""

from pathlib import Path
from typing import Annotated

import typer

from isthmus.commands import _completions
from isthmus.commands._choices import (
    DeviceOption,
    ForceOption,
    JsonOption,
    LanguageOption,
    flag,
    language_of,
    one_of,
    option,
)
from isthmus.commands._output import format_of, format_option, unlike_inputs, write_report
from isthmus.commands._progress import READING_SHOWN_SECONDS, working_on
from isthmus.errors import TraceFileError, UsageError
from isthmus.messages import to_stderr


def advise(
    traces: Annotated[
        list[Path],
        typer.Argument(
            metavar="TRACE",
            help="Files of isthmus trace, SQLite exports of nsys, JSON of the torch profiler; several of one program.",
            show_default=False,
        ),
    ],
    run: str | None = option(
        "--run",
        "FILE",
        "Price with this run, or reference:NAME, instead of this machine's newest.",
        autocompletion=_completions.runs,
    ),
    device: DeviceOption = None,
    format_name: str | None = format_option("advice"),
    as_json: JsonOption = False,
    output: list[Path] | None = option(
        "--output", "FILE", "Write here instead of to standard output; several allowed.", "-o"
    ),
    force: ForceOption = False,
    snippet: str | None = option(
        "--snippet",
        "LANGUAGE",
        "Show code in one language: cuda, hip, torch, cupy, isthmus or opencl.",
        autocompletion=_completions.snippets,
    ),
    fail_if: str | None = option(
        "--fail-if", "GATE", "Exit with 1 where all changes together gain so much: gain:10%, gain:5ms."
    ),
    before: Path | None = option(
        "--before", "TRACE", "An earlier trace of the program: say what was gained since, and what is left."
    ),
    everything: bool = flag(
        "--all", "Show every finding with its evidence, code that runs, and what cannot be judged."
    ),
    gate_of: str = option(
        "--of", "TIME", "What a share in --fail-if is of: steps, where the program has such, or total.", default="steps"
    ),
    language: LanguageOption = "",
) -> None:
    """Name what to change in a traced program, each with the gain at measured rates; works on any machine."""
    from isthmus.advice import ADVICE_LANGUAGES, interface_of_all, parse_gain_gate
    from isthmus.commands._run_choice import advice_on, rates_for
    from isthmus.language import speaking
    from isthmus.report.advice import advice_document
    from isthmus.trace import open_trace

    # Contradictions are found before anything is read.
    one_of(gate_of, ("steps", "total"), "time")
    gate = parse_gain_gate(fail_if, of_total=gate_of == "total") if fail_if is not None else None
    outputs: list[Path | None] = [*output] if output else [None]
    chosen, spoken = (
        [format_of("advice", format_name, each, as_json=as_json, force=force) for each in outputs],
        language_of(language),
    )
    if snippet is not None:
        one_of(snippet, ADVICE_LANGUAGES, "language of snippets")
    for each in outputs:
        unlike_inputs(each, traces, "traces")
    if before is not None:
        for each in outputs:
            unlike_inputs(each, [before], "traces")
    if len({path.resolve() for path in traces}) < len(traces):
        raise UsageError("a trace is named twice, and everything in it would count twice; leave one out")
    everyone = [*traces, *([before] if before else [])]
    opened = []
    for trace in everyone:
        with working_on(f"reading {trace}", after=READING_SHOWN_SECONDS):
            opened.append(open_trace(trace))
    earlier = [opened.pop()] if before else []
    if gate and not any(len(table) for each in opened for table in (each.copies, each.calls, each.kernels)):
        raise TraceFileError(f"{traces[0]}: nothing was recorded, and a gate that passes would say that all is well")
    names = {name for trace in opened for name in trace.devices.values()}
    rates = rates_for(run, device, names, interface_of_all(opened))
    with speaking(spoken):
        advice = advice_on(opened, rates)
        was = advice_on(earlier, rates) if earlier else None
    for path, form in zip(outputs, chosen, strict=True):
        with speaking(spoken):
            document = advice_document(advice, opened, snippet, everything=everything, before=was)
            write_report(document, form, path)
    if gate is None:
        return
    if advice.foreign:
        raise UsageError(
            f"{gate} cannot be judged: the trace is of {', '.join(advice.foreign)}, the rates are of another device; "
            "name a run of the traced one by --run, or advise on its machine"
        )
    if gate.fails(advice):
        to_stderr(f"isthmus: {gate} fails: all changes together gain {gate.gained(advice)}")
        raise typer.Exit(1)
    if advice.unseen:
        raise TraceFileError(f"{gate} cannot be judged: {advice.unseen[0]}")
