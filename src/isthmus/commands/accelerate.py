"""`isthmus accelerate`: runs a program unmodified, with its pageable copies at the rate of the link."""

import os
import re
import shlex
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from isthmus.commands._choices import ForceOption, LanguageOption, flag, language_of, option, whole_number
from isthmus.errors import IsthmusError, UsageError
from isthmus.messages import to_stderr

if TYPE_CHECKING:
    from isthmus.language import Language
    from isthmus.launch import Acceleration

_REPORT = "Say at the end, on standard error, what was moved how, and the time saved."
_MIN = "Leave smaller copies to the driver: 256KiB by default."
_BUDGET = "Page-locked memory for each process and device: 64MiB by default."
_THREADS = "The most threads that copy; by default as many as pay here."
_PATHS = "Over whose links: own by default, all, or other devices such as cuda:1."
_PINNED = "Pages of pinned memory: auto, huge (a forked child may get a copy) or off."
_VERIFY = "Compare each copy with what the driver copies: slow, for trust."
_PRINT = "Print the variables to set, for containers and job scripts, and run nothing."


def accelerate(
    command: list[str] | None = typer.Argument(
        None, metavar="-- CMD ...", help="The program with its arguments.", show_default=False
    ),
    report: bool = flag("--report", _REPORT),
    output: Path | None = option("--output", "FILE", "Write that report here: .html, .md, .json or .txt.", "-o"),
    as_json: bool = flag("--json", "Make the report, or the variables, JSON."),
    paths: str = option("--paths", "PATHS", _PATHS, default=""),
    pinned: str = option("--pinned", "PAGES", _PINNED, default=""),
    verify: bool = flag("--verify", _VERIFY),
    budget: str = option("--budget", "SIZE", _BUDGET, default=""),
    threads: int | None = option("--threads", "N", _THREADS, parser=whole_number(1)),
    least: str = option("--min", "SIZE", _MIN, default=""),
    print_env: bool = flag("--print-env", _PRINT),
    force: ForceOption = False,
    language: LanguageOption = "",
) -> None:
    """Run a program with its copies of pageable memory made by Isthmus; exit as it does.

    Its streams, signals and exit code are its own, and its children are accelerated, too. With ISTHMUS_ACCELERATE=off
    in its environment a program runs as without Isthmus.
    """
    from isthmus.launch import Acceleration
    from isthmus.record import parse_bytes

    spoken = language_of(language)
    wanted = Acceleration(
        least_bytes=parse_bytes(least) if least else None,
        budget_bytes=parse_bytes(budget) if budget else None,
        threads=threads,
        verify=verify,
        pinned=_pages(pinned) if pinned else None,
        paths=_checked(paths) if paths else None,
    )
    if print_env:
        if command or report or output:
            raise UsageError("--print-env runs nothing; leave the program, --report and -o out")
        _print(wanted, as_json=as_json)
        return
    if not command:
        raise UsageError("no program to run; name it as in: isthmus accelerate --report -- ./program")
    if as_json and not report and output is None:
        raise UsageError("--json is for --report and --print-env; name one of them")
    _run(command, wanted, report=report, output=output, as_json=as_json, force=force, spoken=spoken)


def _checked(paths: str) -> str:
    words = paths.split(",")
    if paths in ("own", "all") or all(re.fullmatch(r"[a-z]+:\d+", word) for word in words):
        return paths
    raise UsageError(f"--paths {paths}: expected own, all, or other devices such as cuda:1,cuda:2")


def _pages(pinned: str) -> str:
    if pinned in ("auto", "huge", "off"):
        return pinned
    raise UsageError(f"--pinned {pinned}: expected auto, huge or off")


def _print(wanted: "Acceleration", *, as_json: bool) -> None:
    import json

    from isthmus.launch import accelerated_environment

    changed = accelerated_environment({}, wanted)
    if as_json:
        print(json.dumps(changed, indent=2))
        return
    # What is set already stays so.
    for name, value in changed.items():
        before = f"${{{name}:+${name}:}}" if name in ("LD_PRELOAD", "ASAN_OPTIONS") else ""
        print(f"export {name}={before}{shlex.quote(value)}")


def _run(
    command: list[str],
    wanted: "Acceleration",
    *,
    report: bool,
    output: Path | None,
    as_json: bool,
    force: bool,
    spoken: "Language",
) -> None:
    from isthmus.commands._output import format_of
    from isthmus.commands._trace_files import check_folder, end_as, raise_or_say
    from isthmus.launch import accelerated_environment, has_driver, run, switched_off, why_not_preloaded

    chosen = format_of("acceleration", None, output, as_json=as_json, force=force)
    if output is not None:
        check_folder(output)
    # What becomes of the program matters more than what can be reported of it.
    with suppress(OSError):
        if why := switched_off(os.environ, "ACCELERATE") or why_not_preloaded(command[0]):
            to_stderr(f"isthmus: {command[0]} runs without Isthmus: {why}")
        elif not has_driver():
            to_stderr("isthmus: no CUDA driver is found (libcuda.so.1): only OpenCL programs are accelerated here")
    counted = report or output is not None or wanted.verify
    folder = _folder() if counted else None
    code = 0
    try:
        code = run(command, accelerated_environment(os.environ, wanted, folder), "accelerate")
        if folder is not None:
            with suppress(OSError):
                _tell(folder, command[0], chosen, output, report=report, spoken=spoken)
    except IsthmusError as error:
        raise_or_say(error, code)
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
    end_as(code)


def _folder() -> Path | None:
    """Where processes put their counts; None where none can be made, which is reported and no reason not to run."""
    try:
        return Path(tempfile.mkdtemp(prefix="isthmus-"))
    except OSError as error:
        to_stderr(f"isthmus: no report: {tempfile.gettempdir()}: {error.strerror or error}; name a folder with TMPDIR")
        return None


def _tell(folder: Path, program: str, chosen: str, output: Path | None, *, report: bool, spoken: "Language") -> None:
    from isthmus.commands._output import save_report
    from isthmus.language import speaking
    from isthmus.ledger import read_counts
    from isthmus.report import write
    from isthmus.report.acceleration import acceleration_document

    counts = read_counts(folder)
    with speaking(spoken):
        document = acceleration_document(counts, Path(program).name)
        if output is not None:
            save_report(document, chosen, output)
        # What was copied wrong is reported in any case.
        if report or counts.wrong:
            to_stderr("")
            write(document, "json" if chosen == "json" and output is None else "terminal", sys.stderr)
