"""`isthmus fleet`: which devices of many machines are slow, in what, and why."""

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
    one_of,
    option,
    share_of,
)
from isthmus.commands._output import format_of, format_option, unlike_inputs, write_report
from isthmus.errors import RunFileError, UsageError
from isthmus.messages import printable, to_stderr

if TYPE_CHECKING:
    from isthmus.fleet import Survey

_GATES = ("outliers",)
_MOST_NAMED = 3


def fleet(
    places: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...|DIR",
            help="Fleet files and run files, .json or .json.gz, or folders with such files.",
            autocompletion=_completions.runs,
            show_default=False,
        ),
    ],
    margin: str = option(
        "--margin", "PERCENT", "A device that is less slow than this is not named.", default="5%", show_default=True
    ),
    reference: str | None = option(
        "--reference",
        "RUN",
        "Hold each device against this run, too, or reference:NAME: shows what is wrong with all.",
        autocompletion=_completions.runs,
    ),
    fail_if: str | None = option(
        "--fail-if",
        "GATE",
        "outliers: exit with 1 where a device is slow, wrong, not measured, or below the reference.",
    ),
    format_name: str | None = format_option("fleet", " (slurm and kubectl get the suspect hosts alone)"),
    as_json: JsonOption = False,
    output: OutputOption = None,
    force: ForceOption = False,
    language: LanguageOption = "",
) -> None:
    """Name the slow devices of many machines, each with its likely cause; works on any machine."""
    from isthmus.compare import known_references
    from isthmus.fleet import LEAST_ALIKE, chosen_reference, found_files, survey
    from isthmus.language import speaking
    from isthmus.report.fleet.document import fleet_document
    from isthmus.report.fleet.words import odd_names, verdict

    # Contradictions are found before anything is read.
    share = share_of(margin, "5%")
    if fail_if is not None:
        one_of(fail_if.strip(), _GATES, "gate")
    chosen, spoken = format_of("fleet", format_name, output, as_json=as_json, force=force), language_of(language)
    if output and output.exists():
        unlike_inputs(output, found_files(places).paths, "files")
    expected = chosen_reference(reference) if reference is not None else None
    surveyed = survey(places, margin=share, reference=expected)
    with speaking(spoken):
        write_report(fleet_document(surveyed), chosen, output)
        judged_nothing = surveyed.unjudged == surveyed.count and not surveyed.by_reference
        if chosen in ("slurm", "kubectl"):
            # An empty list would be taken for a verdict; a gate says so itself.
            unsaid = verdict(surveyed) if judged_nothing and fail_if is None else ""
            for text in filter(None, (odd_names(surveyed), unsaid)):
                to_stderr(f"isthmus: {text}")
    if fail_if is not None and not surveyed.passes:
        to_stderr(f"isthmus: outliers fails: {_reason(surveyed)}")
        raise typer.Exit(1)
    if fail_if is not None and judged_nothing:
        raise UsageError(
            f"--fail-if {fail_if.strip()} judged nothing: fewer than {LEAST_ALIKE} devices of a kind; name a reference "
            f"with --reference: {', '.join(known_references())}"
        )
    if refused := surveyed.gathered.refused:
        more = f"; and {len(refused) - 1} more files that were named cannot be used" if len(refused) > 1 else ""
        raise RunFileError(f"{refused[0]}{more}; the survey is of all others")


def _reason(surveyed: "Survey") -> str:
    """Who fails the gate, in a line for a log."""
    everything = surveyed.gathered

    def name(place: int) -> str:
        return f"{everything.devices[place].host} {everything.devices[place].spec}"

    slow = [
        f"{name(each.device)} loses {100 * each.lost:.0f} % ({each.cause})" for each in surveyed.outliers[:_MOST_NAMED]
    ]
    slow += [
        f"{name(each.device)} is {100 * each.lost:.0f} % below the reference" for each in surveyed.below[:_MOST_NAMED]
    ]
    absent = [f"rank {each.rank} {each.host} is missing: {each.why}" for each in everything.missing[:_MOST_NAMED]]
    absent += [
        f"{of - here} of {of} ranks of {fleet} have no file here" for fleet, (here, of) in everything.partial.items()
    ]
    absent += [f"{name(place)} lacks transfers that most have" for place in surveyed.lacking[:_MOST_NAMED]]
    wrong = [f"{name(place)} gave wrong data" for place in surveyed.wrong[:_MOST_NAMED]]
    total = len(surveyed.outliers) + len(surveyed.below) + len(surveyed.wrong) + len(surveyed.lacking)
    more = total + len(everything.missing) + len(everything.partial) - len(slow) - len(wrong) - len(absent)
    if surveyed.below_reference and surveyed.reference:
        slow.append(f"the typical device is slower than reference {surveyed.reference.name} expects")
    text = "; ".join(wrong + absent + slow) + (f"; and {more} more" if more else "")
    return printable(text)
