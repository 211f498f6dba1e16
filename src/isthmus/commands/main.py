"""The command line: its subcommands, and the only place that prints errors and picks exit codes."""

import codecs
import gc
import io
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from isthmus import __version__
from isthmus.commands._command import DROPPED, Command, MeasureCommand, epilog
from isthmus.commands._completions import join_colons
from isthmus.commands.accelerate import accelerate
from isthmus.commands.advise import advise
from isthmus.commands.c_flags import c_flags
from isthmus.commands.calibrate import calibrate
from isthmus.commands.check import check
from isthmus.commands.compare import compare
from isthmus.commands.devices import devices
from isthmus.commands.fleet import fleet
from isthmus.commands.measure import measure
from isthmus.commands.plan import plan
from isthmus.commands.races import races
from isthmus.commands.report import report
from isthmus.commands.trace import trace
from isthmus.errors import IsthmusError, UsageError, as_text, exit_code
from isthmus.messages import leave_output, to_stderr

app = typer.Typer(
    name="isthmus",
    help="Measures, explains and performs the movement of data between host memory and accelerators.",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.command(cls=Command, epilog=epilog("check"))(check)
app.command(cls=Command, epilog=epilog("devices"))(devices)
app.command(
    cls=MeasureCommand,
    epilog=f"{epilog('measure')}\n\nWhat each experiment measures: isthmus measure --list. What one means, and its "
    "options: isthmus measure EXPERIMENT --help.",
)(measure)
app.command(cls=Command, epilog=epilog("calibrate"))(calibrate)
app.command(cls=Command, epilog=epilog("plan"))(plan)
app.command(cls=Command, epilog=epilog("report"))(report)
app.command(cls=Command, epilog=epilog("compare"))(compare)
app.command(cls=Command, epilog=epilog("fleet"))(fleet)
app.command("c-flags", cls=Command, epilog=epilog("c-flags"))(c_flags)
# What it was called in 0.1.
app.command("config", cls=Command, hidden=True)(c_flags)
# The first word that is no option begins the program, whose options are its own.
_PROGRAM_FOLLOWS = {"allow_interspersed_args": False}
app.command(cls=Command, epilog=epilog("trace"), context_settings=_PROGRAM_FOLLOWS)(trace)
app.command(cls=Command, epilog=epilog("advise"))(advise)
app.command(cls=Command, epilog=epilog("accelerate"), context_settings=_PROGRAM_FOLLOWS)(accelerate)
app.command(cls=Command, epilog=epilog("races"), context_settings=_PROGRAM_FOLLOWS)(races)

# What people call commands elsewhere, and what they mean.
_MEANT = {
    **dict.fromkeys(("run", "bench", "benchmark", "bandwidth"), "measure measures this machine's transfers"),
    **dict.fromkeys(("test", "diagnose", "health", "doctor"), "check judges this machine's links"),
    **dict.fromkeys(("profile", "record"), "trace records a program's transfers"),
    **dict.fromkeys(("info", "list", "topo"), "devices lists the devices and their links"),
    **dict.fromkeys(("view", "show", "open"), "report shows a run, advise a trace"),
    "diff": "compare compares two runs",
}

# Errors of parsing. Newer typer carries its own copy of click, older typer needs the package: this is the base in both.
_ParseError = cast(type[Exception], typer.BadParameter.__mro__[2])


def _show_version(wanted: bool) -> None:
    if wanted:
        from isthmus.machine.build import described_build

        typer.echo("\n".join([__version__, *described_build()]))
        raise typer.Exit


@app.callback()
def _group(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            help="Show the version, its commit and the GPU driver, and exit.",
            is_eager=True,
            callback=_show_version,
        ),
    ] = False,
) -> None:
    """Options of the program itself."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line, by default this process's, and give its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # A command makes hundreds of thousands of values and hardly a cycle: looking for some takes a tenth of its time.
    gc.set_threshold(100_000, 50, 100)
    if arguments is None and words[:1] == ["report"]:
        # All that it makes stays to its end, and that of this process.
        gc.disable()
    codecs.register_error("isthmus", _instead)
    # Where the shell closed them Python has none.
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="isthmus")
    code = 0
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    try:
        code = _run(words or ["--help"])
        sys.stdout.flush()
    except KeyboardInterrupt as interrupt:
        code = exit_code(interrupt)
    except _ParseError as error:
        message = getattr(error, "format_message", error.__str__)().rstrip(".")
        if meant := _MEANT.get(words[0]) if message.startswith("No such command") else None:
            message = f"no command {words[0]!r}; isthmus {meant}"
        asked = getattr(getattr(error, "ctx", None), "command_path", "isthmus")
        if asked.endswith(" measure") and (option := getattr(error, "option_name", None)) in DROPPED:
            message = f"{option} is no option any more: {DROPPED[option]}"
        code = _fail(exit_code(UsageError()), f"{message}; {asked} --help shows what there is")
    except IsthmusError as error:
        code = _fail(exit_code(error), str(error))
    except OSError as error:
        # A reader that has all it wanted, such as head, is no failure; a full disk behind standard output is.
        if not isinstance(error, BrokenPipeError):
            code = _fail(exit_code(error), f"{error.filename or 'standard output'}: {error.strerror or error}")
        leave_output()
    return code


def _instead(error: UnicodeError) -> tuple[str, int]:
    """What is written of names that are no UTF-8; a terminal without ± is no reason to lose a report either."""
    assert isinstance(error, UnicodeEncodeError)
    texts = map(as_text, error.object[error.start : error.end])
    return "".join(each if len(each) > 1 else "?" for each in texts), error.end


def _run(words: list[str]) -> int:
    """Parse and run without click's own error handling, which prints boxes and turns a closed pipe into a failure."""
    command: Any = typer.main.get_command(app)
    if os.environ.get("_ISTHMUS_COMPLETE"):
        # Answer a shell that completes a command line.
        has = join_colons() if os.environ["_ISTHMUS_COMPLETE"] == "complete_bash" else ""
        with redirect_stdout(io.StringIO()) as answer:
            try:
                command.main([], prog_name="isthmus")
            except SystemExit as end:
                code = int(end.code or 0)
        print(*(line.removeprefix(has) for line in answer.getvalue().splitlines()), sep="\n")
        return code
    try:
        with command.make_context("isthmus", words) as context:
            command.invoke(context)
    except typer.Exit as exit_:
        return exit_.exit_code
    except typer.Abort:
        return exit_code(KeyboardInterrupt())
    return 0


def _fail(code: int, message: str) -> int:
    from isthmus.experiment.mpi.launcher import launched

    # All MPI ranks end by the same error, so only the first prints it.
    if launched(os.environ).rank == 0:
        to_stderr(f"isthmus: {message}")
    return code
