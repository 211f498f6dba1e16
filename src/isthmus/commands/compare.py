"""`isthmus compare`: says what got slower or faster between two runs, why, and whether a build may go on."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isthmus.commands import _completions
from isthmus.commands._choices import (
    ForceOption,
    JsonOption,
    LanguageOption,
    OutputOption,
    language_of,
    option,
    share_of,
)
from isthmus.commands._output import format_of, format_option, unlike_inputs, write_report
from isthmus.errors import UsageError

if TYPE_CHECKING:
    from isthmus.compare import Checkup, Comparison


# A rate below its range, or more than a few other figures.
_OUTSIDE = "outside"


def compare(
    base: Annotated[
        str,
        typer.Argument(
            metavar="BASE",
            help="Run file, .json or .json.gz, or reference:NAME.",
            show_default=False,
            autocompletion=_completions.runs,
        ),
    ],
    new: Annotated[
        Path,
        typer.Argument(
            metavar="NEW", help="Run file to be compared with it.", show_default=False, autocompletion=_completions.runs
        ),
    ],
    fail_if: list[str] | None = option(
        "--fail-if",
        "GATE",
        "Exit with 1 when any case is significantly so: slower:5%, faster:5%, different:5%; several allowed. "
        "Beside a reference: outside, when the run does not look right.",
    ),
    margin: str = option(
        "--margin", "PERCENT", "Up to so much more or less time is the same.", default="3%", show_default=True
    ),
    format_name: str | None = format_option("comparison"),
    as_json: JsonOption = False,
    output: OutputOption = None,
    force: ForceOption = False,
    language: LanguageOption = "",
) -> None:
    """Compare a run with another, or with a reference, case by case; works on any machine."""
    from isthmus.language import speaking
    from isthmus.report.comparison.document import comparison_document

    share = share_of(margin, "3%")
    gates = [text.strip() for text in fail_if or []]
    chosen = format_of("comparison", format_name, output, as_json=as_json, force=force)
    spoken = language_of(language)
    unlike_inputs(output, (Path(base), new), "run files")
    shown, failed = _compared(base, new, share, gates)
    with speaking(spoken):
        write_report(comparison_document(shown), chosen, output)
    if failed:
        raise typer.Exit(1)


def _compared(base: str, new: Path, margin: float, gates: Sequence[str]) -> "tuple[Comparison | Checkup, bool]":
    """What there is to show, and whether the command fails."""
    from isthmus.commands._run_choice import read_named
    from isthmus.compare import PREFIX, check, compare, parse_gate, read_reference

    if base.startswith(PREFIX):
        if gates != [_OUTSIDE] * len(gates):
            raise UsageError(
                f"a reference has ranges, so that its only gate is --fail-if {_OUTSIDE}; others take two runs"
            )
        checkup = check(read_reference(base), read_named(new))
        return checkup, bool(gates) and not checkup.right
    if _OUTSIDE in gates:
        raise UsageError(f"--fail-if {_OUTSIDE} needs ranges: name {PREFIX}NAME as BASE; two runs take slower:5%")
    comparison = compare(read_named(base), read_named(new), margin=margin, gates=[parse_gate(text) for text in gates])
    return comparison, comparison.failed
