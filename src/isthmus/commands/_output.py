"""Where a report goes that a command writes: its format by the name of the file, and the file itself."""

import io
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from isthmus.commands._own_files import check_replaceable, marked
from isthmus.commands._progress import working_on
from isthmus.errors import UsageError, as_text
from isthmus.files import is_stream, write_whole
from isthmus.messages import heard_enough
from isthmus.report import format_named, format_names, format_of_suffix, formats_for, write

if TYPE_CHECKING:
    from isthmus.document.document import Document, Kind

_NEXT = "isthmus plan --bytes 64MiB --uses 100"


def format_option(kind: "Kind", about: str = "") -> Any:
    """``--format`` of a command that writes such documents; `about` describes the formats behind their names."""
    names = f"{format_names(kind)}{about}"
    shown = f"{names}; by default what the suffix of the output says, else terminal."
    return typer.Option(None, "--format", metavar="NAME", help=shown, show_default=False)


def format_of(
    kind: "Kind", name: str | None, output: Path | None, *, as_json: bool = False, force: bool = False
) -> str:
    """The format of this name, which must fit such a document; without one what the suffix says.

    Raises UsageError for a suffix that says none that fits, or another than the name; for ``--json`` with another
    format; for ``-``, which programs take for standard output: a file of that name is not meant; and for a file that is
    there and that only `force` replaces.
    """
    if as_json and name not in (None, "json"):
        raise UsageError(f"--json and --format {name} contradict each other; leave one of them out")
    name = "json" if as_json else name
    if output == Path("-"):
        raise UsageError("-o -: a report goes to standard output without -o; leave it out, or name a file")
    by_suffix = format_of_suffix(output.suffix if output else "")
    fitting = formats_for(kind)
    if name is not None:
        chosen = format_named(kind, name)
        if by_suffix not in (None, fitting[0], chosen):
            raise UsageError(
                f"{output}: its suffix says {by_suffix.name}, and the format asked for is {name}; change one of them"
            )
    elif by_suffix in fitting:
        chosen = by_suffix
    else:
        suffixes = sorted(suffix for each in fitting[1:] for suffix in each.suffixes)
        raise UsageError(
            f"{output}: its suffix says no format of this report; expected one of {', '.join([*suffixes, '.txt'])}, "
            "or name a format with --format"
        )
    if output is not None:
        check_replaceable(output, force=force)
    return chosen.name


def unlike_inputs(output: Path | None, inputs: Iterable[Path], what: str) -> None:
    """Raises UsageError where the output is one of the inputs; `what` says what those are."""
    if output and any(path.resolve() == output.resolve() for path in inputs):
        raise UsageError(f"{output}: is one of the {what} and would be overwritten; name another file with -o")


def write_report(document: "Document", format_name: str, output: Path | None) -> None:
    """Write to the file and print its name, or else to standard output; raises UsageError where that is impossible."""
    if output is None:
        with heard_enough():
            write(document, format_name, sys.stdout)
    else:
        save_report(document, format_name, output)
        # A name would be written into the report where that goes to /dev/stdout.
        if not is_stream(output):
            print(output)


def save_report(document: "Document", format_name: str, path: Path) -> None:
    """Write the file, or none at all. Raises UsageError where it cannot be written."""
    chosen = format_named(document.kind, format_name)
    text = io.StringIO()
    if chosen.has_sentences:
        # So that what fails leaves an older report alone; figures may be gigabytes, so never in memory as a whole.
        with working_on(f"writing {path}"):
            write(document, format_name, text)
    with _whole(path) as file:
        if chosen.has_sentences:
            file.write(marked(text.getvalue().encode(errors="backslashreplace"), chosen.name))
        else:
            out = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
            write(document, format_name, out)
            out.flush()
            out.detach()


def save(path: Path, content: bytes) -> None:
    """Write the file and print its name. Raises UsageError where it cannot be written."""
    with _whole(path) as file:
        file.write(content)
    print(path)


def where_more_is(path: Path, page: Path | None) -> str:
    """Lines to copy: the page, where it was written, and the commands for all tables and for a plan."""
    from rich.cells import cell_len

    from isthmus.language import say

    lines = {say("screen.page"): str(page)} if page else {}
    lines |= {
        say("screen.tables"): shlex.join(["isthmus", "report", as_text(path), "--all"]),
        say("screen.next"): _NEXT,
    }
    wide = max(map(cell_len, lines))
    return "\n".join(f"{name}{' ' * (wide - cell_len(name))}  {line}" for name, line in lines.items())


@contextmanager
def _whole(path: Path) -> Iterator[BinaryIO]:
    """`write_whole`, whose errors say what to do."""
    try:
        with write_whole(path) as file:
            yield file
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}; name another file with -o") from error
