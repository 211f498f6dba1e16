"""Where a report goes that a command writes: its format by the name of the file, and the file itself."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from isthmus.commands._choices import one_of
from isthmus.errors import UsageError

FORMAT_OF_SUFFIX = {
    ".csv": "csv",
    ".htm": "html",
    ".html": "html",
    ".json": "json",
    ".markdown": "markdown",
    ".md": "markdown",
    ".parquet": "parquet",
    ".prom": "prometheus",
    ".trace": "chrome",
}


# Names of files that text as a terminal shows it may have.
_PLAIN = ("", ".log", ".text", ".txt")


def format_of(name: str | None, output: Path | None, known: Sequence[str]) -> str:
    """The format of this name, which must be one of those known; without one what the suffix says.

    Raises UsageError for a suffix that says none of them and is not one of plain text, or another than the name; and
    for ``-``, which programs take for standard output: a file of that name is nobody's wish.
    """
    if output == Path("-"):
        raise UsageError("-o -: a report goes to standard output without -o; leave it out, or name a file")
    suffix = output.suffix.lower() if output else ""
    told = FORMAT_OF_SUFFIX.get(suffix, "")
    if name is not None:
        chosen = one_of(name, known, "format")
        if told and told != chosen:
            raise UsageError(
                f"{output}: its suffix says {told}, and the format asked for is {chosen}; change one of them"
            )
        return chosen
    if suffix in _PLAIN:
        return "terminal"
    if told not in known:
        suffixes = [each for each, format_name in FORMAT_OF_SUFFIX.items() if format_name in known]
        raise UsageError(
            f"{output}: its suffix says no format of this report; expected one of {', '.join([*suffixes, '.txt'])}, "
            "or name a format with --format"
        )
    return told


def unlike_inputs(output: Path | None, inputs: Iterable[Path], what: str) -> None:
    """Raises UsageError where the output is one of the inputs; `what` says what those are."""
    if output and any(path.resolve() == output.resolve() for path in inputs):
        raise UsageError(f"{output}: is one of the {what} and would be overwritten; name another file with -o")


def unwritable(path: Path, error: OSError) -> UsageError:
    """What to raise where a report cannot be written."""
    return UsageError(f"{path}: cannot be written: {error.strerror or error}; name another file with -o")


def save(path: Path, content: bytes) -> None:
    """Write the file and print its name. Raises UsageError where it cannot be written."""
    try:
        with path.open("wb") as file, whole_or_none(path):
            file.write(content)
            file.flush()
    except OSError as error:
        raise unwritable(path, error) from error
    print(path)


@contextmanager
def whole_or_none(path: Path) -> Iterator[None]:
    """Removes a file whose writing fails: what is cut off would be taken for a report."""
    try:
        yield
    except OSError:
        if path.is_file():
            path.unlink()
        raise
