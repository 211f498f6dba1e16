"""Figures as a table: from cells that know their group, row and column to a grid."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from isthmus.document.grid import Cell, Column, Grid, Group, Row, missing


class Entry(NamedTuple):
    """One cell and where it goes: the title of its group, the heading of its row, the name of its column."""

    group: str
    row: str
    column: str
    cell: Cell


def columns_of(headings: Iterable[str]) -> tuple[Column, ...]:
    """Columns of these headings, whose lines follow one another in their names."""
    return tuple(Column(heading, heading.replace("\n", " ")) for heading in headings)


def pivot(title: str, corner: str, columns: Sequence[Column], entries: Iterable[Entry]) -> Grid | None:
    """Groups and rows in the order in which entries name them, a dash where there is none; None without entries."""
    groups: dict[str, dict[str, dict[str, Cell]]] = {}
    for group, row, column, cell in entries:
        groups.setdefault(group, {}).setdefault(row, {})[column] = cell
    if not groups:
        return None
    made = tuple(
        Group(
            name,
            tuple(
                Row(row, tuple(cells.get(each.name) or missing() for each in columns)) for row, cells in rows.items()
            ),
        )
        for name, rows in groups.items()
    )
    return Grid(title, tuple(columns), made, corner)
