"""Options that several commands share, and options that take one of a few words."""

import difflib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isthmus.commands import _completions
from isthmus.errors import UsageError

if TYPE_CHECKING:
    from isthmus.language import Language


def option(name: str, metavar: str, text: str, *others: str, default: Any = None, **limits: Any) -> Any:
    """The default of a parameter that is an option of one value; help shows a default only with show_default."""
    shown = {"show_default": False, **limits}
    return typer.Option(default, *others, name, metavar=metavar, help=text, **shown)


def flag(name: str, text: str, *others: str) -> Any:
    """The default of a parameter that is an option without a value."""
    return typer.Option(False, name, *others, help=text)


def whole_number(least: int) -> Callable[[str | int], int]:
    """How an option reads a whole number that is no less than this."""

    def read(text: str | int) -> int:
        words = str(text)  # A default is no text.
        if not words.isascii() or not words.isdigit() or int(words) < least:
            raise typer.BadParameter(f"found {words!r}, expected a whole number from {least} on")
        return int(words)

    return read


DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="DEVICE",
        help="cuda:0, opencl:0, host; the best one present by default.",
        show_default=False,
        autocompletion=_completions.devices,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document for scripts.")]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="FILE", help="Write here instead of to standard output.", show_default=False
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace also a file that Isthmus did not write.")]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", help="Seed for case order and data.", parser=whole_number(0))
]
# What `language_of` reads.
LanguageOption = Annotated[
    str,
    typer.Option(
        "--lang",
        metavar="LANGUAGE",
        help="Language of the sentences: en, ja, zh; by default the locale's (LC_ALL, LC_MESSAGES, LANG), else en.",
        show_default=False,
        autocompletion=_completions.languages,
    ),
]


def one_of(name: str, known: Sequence[str], what: str, *, listed_by: str = "") -> str:
    """The name, if it is known; `what` says in the error what it was to be.

    `listed_by` is the command that lists the known ones, where they are too many for a message.
    """
    if name not in known:
        expected = (
            f"expected one of the {len(known)} of {listed_by}" if listed_by else f"expected one of {', '.join(known)}"
        )
        raise UsageError(f"no such {what}: {name!r}; {meant(name, known)}{expected}")
    return name


def meant(name: str, known: Sequence[str]) -> str:
    """``did you mean 'pageable'? `` for what is close to a known name; empty for others."""
    near = difflib.get_close_matches(name.lower(), known, 1, cutoff=0.6)
    return f"did you mean {near[0]!r}? " if near else ""


def language_of(name: str) -> "Language":
    """The language of this tag; of none the locale's, and English where that has no texts."""
    from isthmus.language import LANGUAGES

    if not name:
        locale = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
        return next((language for language in LANGUAGES if locale.startswith(language)), "en")
    one_of(name, LANGUAGES, "language")
    return next(language for language in LANGUAGES if language == name)


def share_of(margin: str, example: str) -> float:
    """The share that ``--margin`` gives in per cent, with the sign or without."""
    from isthmus.record import parse_share

    share = parse_share(margin, 0.01)
    if not 0 < share < 1:
        raise UsageError(f"not a margin: {margin}; expected per cent between 0 and 100, such as --margin {example}")
    return share
