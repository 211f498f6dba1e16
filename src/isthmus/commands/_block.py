"""Blocks of labelled rows with remarks and commands: the plain-text form in which `isthmus devices` speaks."""

import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isthmus.record import GIB, KIB, MIB

if TYPE_CHECKING:
    from rich.console import Console

_INDENT = 2
_LABEL = 14
# Longer lines are harder to read, however wide the terminal.
_WIDEST = 100


@dataclass(frozen=True)
class Row:
    """A label and a text that wraps; `commands` follow on lines of their own that never wrap, to be copied."""

    label: str
    text: str
    commands: tuple[str, ...] = ()
    is_remark: bool = False

    @classmethod
    def remark(cls, text: str, *commands: str) -> "Row":
        """What the row above means for transfers, and the commands that change it."""
        return cls("", text, commands, is_remark=True)


@dataclass
class Block:
    """A title and its rows."""

    title: str
    rows: list[Row] = field(default_factory=list)

    def add(self, label: str, text: str) -> None:
        """Append a row, unless there is nothing to say."""
        if text:
            self.rows.append(Row(label, text))

    def remark(self, text: str, *commands: str) -> None:
        """Append a remark on the row before."""
        self.rows.append(Row.remark(text, *commands))


def near_size(count: int) -> str:
    """A size to one decimal, for sizes of which nobody wants every byte: ``140.4 GiB``, ``105 MiB``."""
    factor, unit = next(((size, name) for size, name in _UNITS if count >= size), (1, "B"))
    return f"{round(count / factor, 1):g} {unit}"


_UNITS = ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"))


def print_block(console: "Console", block: Block) -> None:
    """Print the block, wrapped to the console; style only colours and weights, so that a pipe gets the same words."""
    width = min(console.width, _WIDEST)
    for line in textwrap.wrap(block.title, width, subsequent_indent=" " * _INDENT):
        _line(console, line, "bold")
    margin = " " * (_INDENT + _LABEL)
    for row in block.rows:
        first = f"{' ' * _INDENT}{row.label.ljust(_LABEL - 1)} "
        mark = "! " if row.is_remark else ""
        lines = textwrap.wrap(
            row.text,
            width,
            initial_indent=first + mark,
            subsequent_indent=margin + " " * len(mark),
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in lines:
            _line(console, line, "yellow" if row.is_remark else "")
        # Under the remark if there is room, else as far left as it takes to keep the longest command whole.
        room = width - max(map(len, row.commands), default=0)
        indent = min(len(margin) + len(mark), max(room, 2 * _INDENT))
        for command in row.commands:
            _line(console, " " * indent + command, "cyan")
    _line(console, "", "")


def _line(console: "Console", text: str, style: str) -> None:
    console.print(text, style=style, markup=False, highlight=False, emoji=False, soft_wrap=True)
