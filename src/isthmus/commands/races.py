"""`isthmus races`: runs a program unmodified and names copies that race with the host or with each other."""

import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from isthmus.commands._choices import ForceOption, LanguageOption, flag, language_of, option
from isthmus.errors import IsthmusError, UsageError
from isthmus.messages import to_stderr

if TYPE_CHECKING:
    from isthmus.language import Language
    from isthmus.races import Races

_FAIL_IF = "Exit with 1 where the program exits with 0 and has a race: any."
_IGNORE = "Leave out the races whose places are in this file."
_WRITE = "Write the places of all races to a file for --ignore."
_SANITIZER = b"__asan_init"


def races(
    command: list[str] | None = typer.Argument(
        None, metavar="-- CMD ...", help="The program with its arguments.", show_default=False
    ),
    output: Path | None = option("--output", "FILE", "Write the report here: .html, .md, .json or .txt.", "-o"),
    as_json: bool = flag("--json", "Make the report JSON."),
    fail_if: str = option("--fail-if", "WHAT", _FAIL_IF, default=""),
    ignore: Path | None = option("--ignore", "FILE", _IGNORE),
    write_ignored: Path | None = option("--write-ignored", "FILE", _WRITE),
    force: ForceOption = False,
    language: LanguageOption = "",
) -> None:
    """Run a program and name where it touches what an unfinished copy still uses, by the host or by another stream.

    It exits as the program does. A copy counts as unfinished until the program itself has waited for it, however fast
    the copy was. The report is written to standard error. With ISTHMUS_RACES=off in its environment a program runs as
    without Isthmus.
    """
    spoken = language_of(language)
    if not command:
        raise UsageError("no program to run; name it as in: isthmus races -- ./program")
    if fail_if not in ("", "any"):
        raise UsageError(f"--fail-if {fail_if}: expected any")
    _refuse(command[0])
    _run(
        command,
        output=output,
        as_json=as_json,
        fails=bool(fail_if),
        ignored=_places(ignore),
        write_ignored=write_ignored,
        force=force,
        spoken=spoken,
    )


def _refuse(program: str) -> None:
    """Raise UsageError for what handles the faults, or makes the copies, of the same process."""
    from isthmus.files import read_bounded

    if "libisthmus_accelerator" in os.environ.get("LD_PRELOAD", ""):
        raise UsageError("isthmus accelerate is set for this environment; copies that it makes have no races to show")
    path = shutil.which(program)
    is_sanitized = False
    with suppress(OSError, IsthmusError):
        is_sanitized = bool(path) and _SANITIZER in read_bounded(Path(str(path)))
    if is_sanitized:
        raise UsageError(
            f"{program} is built with an address sanitizer, which handles its faults itself; build it without"
        )


def _places(ignore: Path | None) -> list[str]:
    from isthmus.files import read_bounded

    return [] if ignore is None else read_bounded(ignore).decode(errors="replace").splitlines()


def _run(
    command: list[str],
    *,
    output: Path | None,
    as_json: bool,
    fails: bool,
    ignored: list[str],
    write_ignored: Path | None,
    force: bool,
    spoken: "Language",
) -> None:
    from isthmus.commands._output import format_of, save
    from isthmus.commands._own_files import check_replaceable
    from isthmus.commands._trace_files import check_folder, end_as, raise_or_say
    from isthmus.launch import has_driver, races_environment, run, switched_off, why_not_preloaded
    from isthmus.races import read_races

    chosen = format_of("races", None, output, as_json=as_json, force=force)
    for path in filter(None, (output, write_ignored)):
        check_folder(path)
    if write_ignored is not None:
        check_replaceable(write_ignored, force=force)
    with suppress(OSError):
        if why := switched_off(os.environ, "RACES") or why_not_preloaded(command[0]):
            to_stderr(f"isthmus: {command[0]} runs without Isthmus: {why}")
        elif not has_driver():
            to_stderr("isthmus: there is no CUDA driver here (libcuda.so.1)")
    folder = Path(tempfile.mkdtemp(prefix="isthmus-"))
    code = 0
    try:
        code = run(command, races_environment(os.environ, folder), "races")
        seen = read_races(folder, ignored)
        with suppress(OSError):
            _show(seen, command[0], chosen, output, spoken)
        if write_ignored is not None:
            save(write_ignored, "".join(f"{race.place}\n" for race in seen.races).encode())
        if fails and not code and seen.races:
            code = 1
    except IsthmusError as error:
        raise_or_say(error, code)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    end_as(code)


def _show(seen: "Races", program: str, chosen: str, output: Path | None, spoken: "Language") -> None:
    from isthmus.commands._output import save_report
    from isthmus.language import speaking
    from isthmus.report import write
    from isthmus.report.races import races_document

    with speaking(spoken):
        document = races_document(seen, Path(program).name)
        if output is not None:
            save_report(document, chosen, output)
        to_stderr("")
        write(document, "json" if chosen == "json" and output is None else "terminal", sys.stderr)
