"""Figures as a table: from keys, or from cells that know their group, row and column, to rows and grids."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from isthmus.document.grid import Cell, Column, Grid, Group, Row, missing

_Key = TypeVar("_Key")
_Across = TypeVar("_Across")


class Entry(NamedTuple):
    """One cell and where it goes: the title of its group, the heading of its row, the name of its column."""

    group: str
    row: str
    column: str
    cell: Cell


def columns_of(headings: Iterable[str], run: str = "") -> tuple[Column, ...]:
    """Columns of these headings, whose lines follow one another in their names."""
    return tuple(Column(heading, heading.replace("\n", " "), run) for heading in headings)


def word_column(name: str, run: str = "") -> Column:
    """A column whose heading has a line for each word of its name."""
    return Column(name.replace(" ", "\n"), name, run)


def rows_of(
    keys: Iterable[_Key],
    heading: Callable[[_Key], str],
    across: Sequence[_Across],
    cell: Callable[[_Across, _Key], Cell],
) -> tuple[Row, ...]:
    """A row for each key, with the cell of the key in each column, by what `across` has in the column's place."""
    return tuple(Row(heading(key), tuple(cell(each, key) for each in across)) for key in keys)


def grid_of(title: str, columns: Iterable[Column], groups: Iterable[Group], corner: str = "") -> Grid | None:
    """A table of the groups that have rows; None where none has."""
    filled = tuple(group for group in groups if group.rows)
    return Grid(title, tuple(columns), filled, corner) if filled else None


def groups_of(rows: Iterable[tuple[str, Row]]) -> tuple[Group, ...]:
    """Rows with the titles of their groups as groups, in the order in which these are named first."""
    groups: dict[str, list[Row]] = {}
    for title, row in rows:
        groups.setdefault(title, []).append(row)
    return tuple(Group(title, tuple(of_group)) for title, of_group in groups.items())


def pivot(title: str, corner: str, columns: Sequence[Column], entries: Iterable[Entry]) -> Grid | None:
    """Groups and rows in the order in which entries name them, a dash where there is none; None without entries."""
    groups: dict[str, dict[str, dict[str, Cell]]] = {}
    for group, row, column, cell in entries:
        groups.setdefault(group, {}).setdefault(row, {})[column] = cell
    made = (
        (name, Row(row, tuple(cells.get(each.name) or missing() for each in columns)))
        for name, rows in groups.items()
        for row, cells in rows.items()
    )
    return grid_of(title, columns, groups_of(made), corner)
