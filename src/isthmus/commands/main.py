"""The command line: its subcommands, and the only place that prints errors and picks exit codes."""

import codecs
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, cast

import typer

from isthmus import __version__
from isthmus.commands.advise import advise
from isthmus.commands.calibrate import calibrate
from isthmus.commands.check import check
from isthmus.commands.compare import compare
from isthmus.commands.config import config
from isthmus.commands.devices import devices
from isthmus.commands.fleet import fleet
from isthmus.commands.measure import measure
from isthmus.commands.plan import plan
from isthmus.commands.report import report
from isthmus.commands.trace import trace
from isthmus.errors import IsthmusError, UsageError, as_text, exit_code
from isthmus.messages import to_stderr

app = typer.Typer(
    name="isthmus",
    help="Measures, explains and performs the movement of data between host memory and accelerators.",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.command()(check)
app.command()(devices)
app.command()(measure)
app.command()(calibrate)
app.command()(plan)
app.command()(report)
app.command()(compare)
app.command()(fleet)
app.command()(config)
# The first word that is no option begins the program, whose options are its own.
app.command(context_settings={"allow_interspersed_args": False})(trace)
app.command()(advise)

# Errors of parsing. Newer typer carries its own copy of click, older typer needs the package: this is the base in both.
_ParseError = cast(type[Exception], typer.BadParameter.__mro__[2])


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _group(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version)
    ] = False,
) -> None:
    """Options of the program itself."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line, by default this process's, and give its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    codecs.register_error("isthmus", _instead)
    # Where the shell closed them Python has none.
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="isthmus")
    code = 0
    try:
        code = _run(words or ["--help"])
        sys.stdout.flush()
    except KeyboardInterrupt as interrupt:
        code = exit_code(interrupt)
    except _ParseError as error:
        message = getattr(error, "format_message", error.__str__)().rstrip(".")
        asked = getattr(getattr(error, "ctx", None), "command_path", "isthmus")
        code = _fail(exit_code(UsageError()), f"{message}; {asked} --help shows what there is")
    except IsthmusError as error:
        code = _fail(exit_code(error), str(error))
    except OSError as error:
        # A reader that has all it wanted, such as head, is no failure; a full disk behind standard output is.
        if not isinstance(error, BrokenPipeError):
            code = _fail(exit_code(error), f"{error.filename or 'standard output'}: {error.strerror or error}")
        # Python flushes once more when it ends, which must not raise again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _instead(error: UnicodeError) -> tuple[str, int]:
    """What is written of names that are no UTF-8; a terminal without ± is no reason to lose a report either."""
    assert isinstance(error, UnicodeEncodeError)
    texts = map(as_text, error.object[error.start : error.end])
    return "".join(each if len(each) > 1 else "?" for each in texts), error.end


def _run(words: list[str]) -> int:
    """Parse and run without click's own error handling, which prints boxes and turns a closed pipe into a failure."""
    command = typer.main.get_command(app)
    try:
        with command.make_context("isthmus", words) as context:
            command.invoke(context)
    except typer.Exit as exit_:
        return exit_.exit_code
    except typer.Abort:
        return exit_code(KeyboardInterrupt())
    return 0


def _fail(code: int, message: str) -> int:
    from isthmus.experiment.fleet.launcher import launched

    # All MPI ranks end by the same error, so only the first prints it.
    if launched(os.environ).rank == 0:
        to_stderr(f"isthmus: {message}")
    return code
