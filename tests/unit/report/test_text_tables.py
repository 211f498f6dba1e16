"""Tables of sections in a terminal and in Markdown: row headings, units, words that wrap, groups without a title."""

import io

import pytest

from isthmus.document.document import Document, Table
from isthmus.document.grid import Cell, Column, Grid, Group, Row, text_grid, time_cell
from isthmus.record import Interval
from isthmus.report.renderers import markdown, terminal

WORDS = "the device cannot read pages that may move, so the driver copies them through a buffer of its own"


def table(format_name: str, grid: Grid, width: int = 60) -> list[str]:
    document = Document("runs", "Title of the document", (Table((grid,)),))
    out = io.StringIO()
    if format_name == "terminal":
        terminal.write(document, out, width=width)
    else:
        markdown.write(document, out)
    return out.getvalue().splitlines()


def grid(*cells: Cell) -> Grid:
    columns = (Column("long\nname", "long name"), Column("why", "why", prose=True))
    return Grid("Title", columns, (Group("", (Row("a|b", cells),)),), corner="Kind")


def test_words_wrap_in_a_terminal_and_figures_do_not() -> None:
    lines = table("terminal", grid(Cell("12.5", "0.3", unit="ms"), Cell(WORDS)))
    assert max(map(len, lines)) <= 60
    first = next(index for index, line in enumerate(lines) if line.lstrip().startswith("a|b"))
    assert "12.5 ±0.3 ms" in lines[first]
    # The figure stands on the first line of the words, which go on below.
    assert " ".join(" ".join(lines[first:]).split()).startswith(f"a|b 12.5 ±0.3 ms {WORDS}")
    assert len(lines[first].split()) < len(WORDS.split())
    assert any(line.split() == ["Kind", "name", "why"] for line in lines)


def test_a_pipe_keeps_words_on_one_line() -> None:
    lines = table("terminal", grid(Cell("1"), Cell(WORDS)), width=10_000)
    assert any(line.endswith(WORDS) for line in lines)


def test_markdown_escapes_headings_and_words_and_keeps_units() -> None:
    lines = table("markdown", grid(Cell("12.5", "0.3", state="wide", unit="ms"), Cell("a|b *c*")))
    assert "### Title" in lines
    assert "| Kind | long name | why |" in lines
    assert "|---|---:|---|" in lines
    assert "| a\\|b | 12.5 ~0.3 ms | a\\|b \\*c\\* |" in lines


@pytest.mark.parametrize(
    ("seconds", "text", "unit"),
    [
        (4e-8, "40.0", "ns"),
        (9.996e-7, "1.00", "us"),
        (2.5e-3, "2.50", "ms"),
        (0.99949, "999", "ms"),
        (12.0, "12.0", "s"),
    ],
)
def test_times_have_three_digits_in_the_unit_that_suits_them(seconds: float, text: str, unit: str) -> None:
    found = time_cell(Interval(seconds, seconds, seconds))
    assert (found.text, found.unit) == (text, unit)


def test_minor_columns_are_left_out_where_a_terminal_is_narrow_and_named_below() -> None:
    shown = text_grid(
        "", "Name", ["Time", "Least", "Rate"], [("copy", ["1.00 ms", "0.50 ms", "2 GB/s"])], minor=["Least"]
    )
    assert table("terminal", shown, 40)[-1].split() == ["copy", "1.00", "ms", "0.50", "ms", "2", "GB/s"]
    words = " ".join(table("terminal", shown, 21)).split()
    assert "copy 1.00 ms 2 GB/s Columns that do not fit here: Least." in " ".join(words)


def test_each_part_of_a_table_that_is_split_begins_with_the_names_of_its_rows() -> None:
    shown = text_grid("", "Name", ["Time", "Rate"], [("copy", ["1.00 ms", "2 GB/s"])])
    assert [line.split()[0] for line in table("terminal", shown, 12) if "ms" in line or "GB/s" in line] == ["copy"] * 2
