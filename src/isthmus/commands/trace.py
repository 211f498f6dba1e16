"""`isthmus trace`: runs a program unmodified and records its transfers; reads saved traces of any maker."""

import os
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from isthmus.commands._choices import LanguageOption, flag, language_of, option
from isthmus.errors import IsthmusError, TraceFileError, UsageError
from isthmus.messages import to_stderr
from isthmus.report import format_named, format_names, formats_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isthmus.advice import Advice
    from isthmus.commands._trace_files import Outputs
    from isthmus.launch import Left
    from isthmus.trace import Trace


# Which kernels are recorded, as native/tracer/options.hpp has it.
_KERNELS = "5%"


def trace(
    command: list[str] | None = typer.Argument(
        None, metavar="-- CMD ...", help="The program with its arguments.", show_default=False
    ),
    output: list[Path] | None = option(
        "--output",
        "FILE",
        "The trace (.itrace) or an export: .html, .csv, .json, .md, .trace for Perfetto; several allowed.",
        "-o",
    ),
    saved: Path | None = option("--open", "FILE", "Show or export a saved trace, also nsys's or torch's."),
    format_name: str | None = option("--format", "NAME", f"With --open: {format_names('trace')} on standard output."),
    as_json: bool = flag("--json", "With --open: the same as --format json."),
    stacks: bool = flag("--stacks", "Record native backtraces of calls."),
    contents: bool = flag("--contents", "Record hashes of what is copied, to find what is copied twice."),
    no_python_lines: bool = flag("--no-python-lines", "Do not record files and lines of Python."),
    kernels: str = option(
        "--kernels",
        "WHICH",
        "Record all kernels, none, or as many as cost such a share of the program's time: where all cost more, those "
        "of windows, and graphs as a whole.",
        default=_KERNELS,
        show_default=True,
    ),
    all_times: bool = flag(
        "--all-times", "Have devices time every copy, also where that slows the program: by 1 to 2 us a copy."
    ),
    force: bool = flag("--force", "Replace files that Isthmus did not write, and another tool that is to be loaded."),
    quiet: bool = flag("--quiet", "Write files, and nothing to standard error.", "-q"),
    language: LanguageOption = "",
) -> None:
    """Run a program and record how it moves data; a table goes to standard error when it has ended.

    Standard input and output, signals and the exit code are the program's own. With ISTHMUS_TRACE=off in its
    environment a program runs as without Isthmus, and nothing is recorded.
    """
    from isthmus.language import speaking

    spoken = language_of(language)
    if saved is None and not command:
        raise UsageError("no program to trace; name it as in: isthmus trace -- ./program, or a saved trace with --open")
    if saved is not None and command:
        raise UsageError("--open shows a saved trace and runs no program; leave one of them out")
    if as_json and format_name not in (None, "json"):
        raise UsageError(f"--json and --format {format_name} contradict each other; leave one of them out")
    format_name = "json" if as_json else format_name
    if saved is None and format_name is not None:
        raise UsageError(
            "--format and --json go with --open; of a program that runs name files with -o, such as -o trace.json"
        )
    options: dict[str, bool] = {
        "stacks": stacks,
        "contents": contents,
        "no-python": no_python_lines,
        _kernels_word(kernels): kernels != _KERNELS,
        "all-times": all_times,
    }
    if saved is not None and any(options.values()):
        raise UsageError(
            "--stacks, --contents, --no-python-lines, --kernels and --all-times are for recording; "
            "a saved trace has what it has"
        )
    with speaking(spoken):
        if saved is not None:
            _show(saved, output or [], format_name, force=force)
        else:
            chosen = [name for name, wanted in options.items() if wanted]
            _record(command or [], output or [], chosen, force=force, quiet=quiet)


def _kernels_word(given: str) -> str:
    """What the recorder is to do about kernels, as it reads it (native/tracer/options.hpp)."""
    from isthmus.record import parse_share

    if given in ("all", "none"):
        return "kernels=100" if given == "all" else "no-kernels"
    share = parse_share(given, 0.01)
    if not 0 < share < 1:
        raise UsageError(f"not a share: {given!r}; expected one such as 5%, or all or none, for --kernels")
    return f"kernels={100 * share:g}"


def _show(saved: Path, files: Iterable[Path], format_name: str | None, *, force: bool) -> None:
    from isthmus.commands._progress import READING_SHOWN_SECONDS, working_on
    from isthmus.commands._trace_files import outputs_of
    from isthmus.report import write
    from isthmus.report.trace.document import trace_document
    from isthmus.trace import open_trace

    outputs = outputs_of(files, force=force)
    if outputs.trace:
        raise UsageError(f"{outputs.trace}: a saved trace is exported, not saved again; name a file of another suffix")
    if format_name is not None and outputs.exports:
        raise UsageError("--format is for standard output; what -o writes its suffix says: leave one of them out")
    chosen = format_named("trace", format_name or "terminal").name
    if any(path.resolve() == saved.resolve() for path, _ in outputs.exports):
        raise UsageError(f"{saved}: is the trace itself and would be overwritten; name another file with -o")
    with working_on(f"reading {saved}", after=READING_SHOWN_SECONDS):
        opened = open_trace(saved)
    advice = _advice(opened, [name for _, name in outputs.exports] or [chosen])
    if not outputs.exports:
        write(trace_document(opened, advice), chosen, sys.stdout)
    for path in _exported(opened, outputs, advice):
        print(path)


def _record(command: list[str], files: Iterable[Path], options: list[str], *, force: bool, quiet: bool) -> None:
    """Run the program, then join, show and export what was recorded; end as the program did."""
    from isthmus.commands._trace_files import end_as, outputs_of, parts_folder, raise_or_say, reserved
    from isthmus.experiment.mpi.launcher import launched
    from isthmus.launch import left_in, run, traced_environment

    here = launched(os.environ)
    rank = here.rank if here.ranks > 1 else None
    outputs = outputs_of(files, rank, force=force)
    # Before anything is written: whether this can be recorded at all.
    traced_environment(os.environ, Path(), options, force=force)
    path = reserved(outputs, command[0], rank)
    code = None
    try:
        with parts_folder(path) as folder:
            code = run(command, traced_environment(os.environ, folder, options, force=force), "trace")
            left = left_in(folder)
            if left.parts:
                _join(left.parts, path)
            # A message that names one of its own files says that it could not be written, which is a failure.
            unwritten = [message for message in left.messages if message.startswith(f"{folder}{os.sep}")]
        # Only the first of several ranks prints; the others write their files.
        _tell(path, left, outputs, speaks=not quiet and here.rank == 0)
        if unwritten and not path.exists():
            raise TraceFileError(
                "nothing was recorded: the trace cannot be written; make room, or name another with -o"
            )
    except IsthmusError as error:
        raise_or_say(error, code)
    except OSError:
        # A message would not be read then.
        if code is None:
            raise
    finally:
        if path.exists() and not path.stat().st_size:
            path.unlink()
    end_as(code)


def _join(parts: "Sequence[Path]", path: Path) -> None:
    from isthmus.trace import join_parts

    try:
        join_parts(parts, path)
    except (OSError, IsthmusError) as error:
        # Nothing of a full disk shall look like a trace.
        path.unlink(missing_ok=True)
        raise TraceFileError(
            f"{path}: cannot be written: {error}; what was recorded lies in {parts[0].parent}, part by part for --open"
        ) from error


def _tell(path: Path, left: "Left", outputs: "Outputs", *, speaks: bool) -> None:
    from isthmus.language import say
    from isthmus.launch import switched_off
    from isthmus.report import write
    from isthmus.report.trace.document import trace_document
    from isthmus.trace import open_trace

    for message in left.messages if speaks else ():
        to_stderr(f"isthmus: {message}")
    if not (left.parts and path.stat().st_size):
        # What an earlier program left under these names would be taken for this one's.
        for each in (path, *(export for export, _ in outputs.exports)):
            if each.is_file():
                each.unlink()
        if speaks and not left.messages:
            off = switched_off(os.environ, "TRACE")
            to_stderr(f"isthmus: nothing was recorded: {off}" if off else say("trace_report.no_calls"))
        return
    opened = open_trace(path)
    advice = _advice(opened, [*(name for _, name in outputs.exports), *(["terminal"] if speaks else [])])
    written = [str(each) for each in _exported(opened, outputs, advice)]
    if speaks:
        to_stderr("")
        write(trace_document(opened, advice), "terminal", sys.stderr)
        saved = say("trace_report.saved", files=", ".join([str(path), *written]), command=f"isthmus advise {path}")
        to_stderr(f"\n{saved}")


def _advice(opened: "Trace", formats: Collection[str]) -> "Advice | None":
    """What a run of this machine, or of a device like the traced one, says of it, for reports that have sentences.

    None where there is no such run, or no such report among the formats.
    """
    from isthmus.advice import interface_of_all
    from isthmus.commands._run_choice import advice_on, rates_of_like

    with suppress(IsthmusError, OSError):
        if len(opened.copies) and any(each.has_sentences and each.name in formats for each in formats_for("trace")):
            rates = rates_of_like(set(opened.devices.values()), interface_of_all([opened]))
            return None if rates is None else advice_on([opened], rates)
    return None


def _exported(opened: "Trace", outputs: "Outputs", advice: "Advice | None") -> list[Path]:
    """The files that were written, as they went."""
    from isthmus.commands._output import save_report
    from isthmus.report.trace.document import trace_document

    if outputs.exports:
        document = trace_document(opened, advice)
        for path, format_name in outputs.exports:
            save_report(document, format_name, path)
    return [path for path, _ in outputs.exports]
