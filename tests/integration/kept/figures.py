"""The figures in the tables of a Markdown report: what a rebuilt report must still hold."""

import re
from collections import Counter
from collections.abc import Iterator

__all__ = ["rows_of", "tables_of"]

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_HEADING = re.compile(r"(#{2,4}) (.*)")


def tables_of(report: str) -> dict[str, list[list[str]]]:
    """Heading path of each table -> the numbers of each of its rows, as they are written, in order."""
    found: dict[str, list[list[str]]] = {}
    path: dict[int, str] = {}
    for line in report.splitlines():
        if heading := _HEADING.fullmatch(line):
            depth = len(heading[1])
            path = {level: title for level, title in path.items() if level < depth} | {depth: heading[2]}
        elif line.startswith("| ") and (numbers := _NUMBER.findall(line)):
            found.setdefault(" > ".join(path.values()), []).append(numbers)
    return found


def rows_of(report: str) -> Iterator[Counter[str]]:
    """The numbers of every row of every table."""
    for rows in tables_of(report).values():
        yield from map(Counter, rows)
