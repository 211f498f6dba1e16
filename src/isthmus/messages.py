"""Words from files, machines and drivers made fit to be shown; standard error, and readers of standard output."""

import functools
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from unicodedata import category

from isthmus.errors import as_text

# All but the letters of which pages and code consist, which are shown as they are.
_UNUSUAL = re.compile(r"[^ -~\t\n]")


def plain(text: str) -> str:
    """A text of lines in which what would command a terminal or turn the order of letters is escaped, as in code."""
    return text if text.isprintable() else _UNUSUAL.sub(lambda match: _shown(match[0]), text)


def printable(text: str) -> str:
    """The same in one line, with one kind of space."""
    if text.isprintable():
        return text
    return "".join(" " if each in "\t\n" or category(each) == "Zs" else _shown(each) for each in as_text(text))


def to_stderr(words: str) -> None:
    """Print a line, or lines, in which names may be anybody's."""
    print(plain(words), file=sys.stderr, flush=True)


def to_stderr_in_place(words: str) -> None:
    """Print a line over the one that this printed before; an empty one ends it."""
    print(f"\r{plain(words):<70}" if words else "\n", end="", file=sys.stderr, flush=True)


@contextmanager
def heard_enough() -> Iterator[None]:
    """Write to standard output, whose reader may have all it wanted, as head does: no failure, and no verdict either.

    What comes later goes nowhere then.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        leave_output()


def leave_output() -> None:
    """Have standard output go nowhere: Python flushes once more when it ends, which must not raise again."""
    with suppress(io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@functools.cache
def to_stderr_once(words: str) -> None:
    """The same, once in a process."""
    to_stderr(words)


@functools.cache
def _shown(letter: str) -> str:
    if letter.isprintable() or letter in "\t\n" or category(letter) == "Zs":
        return letter
    if (byte := as_text(letter)) != letter:
        return byte
    number = ord(letter)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
