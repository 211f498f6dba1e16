"""Reports for terminals, pipes and Markdown: nothing cut off, no wider than asked, and names taken for no markup."""

import io
from collections.abc import Callable

import pytest

from isthmus.document.document import Document, Table
from isthmus.document.grid import Cell, Column, Grid, Group, Row, text_grid, time_cell
from isthmus.record import Device, End, Host, Interval
from isthmus.report.renderers import markdown, terminal
from isthmus.report.runs import runs_document
from tests.synthetic import runs as synthetic


def shown(width: int | None, *runs: object) -> str:
    out = io.StringIO()
    terminal.write(runs_document(runs), out, width=width)  # type: ignore[arg-type]
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_no_line_is_wider_than_the_terminal_and_none_is_cut(width: int) -> None:
    text = shown(width, synthetic.h200())
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text


def test_tables_that_do_not_fit_are_split_by_columns() -> None:
    text = shown(48, synthetic.h200())
    assert "Host to device (H2D) (columns 1 to 4 of 7)" in text
    assert "Host to device (H2D) (columns 5 to 7 of 7)" in text


@pytest.mark.parametrize("command", ["\x1b[2J", "\x1b]0;title\x07", "\x9b2J", "\r", "\n"])
def test_names_in_a_file_command_no_terminal(command: str) -> None:
    device = Device(backend="cuda", index=0, name=f"a{command}b")
    end = End(status="failed", seconds=1.0, message=f"c{command}d")
    runs = [synthetic.run([], device=device, end=end, host=Host(name=f"e{command}{name}")) for name in "fg"]
    for chosen in (runs, runs[:1]):
        text = shown(80, *chosen)
        assert not set(text) & {"\x1b", "\x07", "\x9b", "\r"}
        first = text.splitlines()[0]
        assert "a" in first
        assert ("b (cuda:0)" if len(chosen) > 1 else "b · cuda:0") in first


def test_a_pipe_gets_whole_tables_and_no_control_codes(rendered: Callable[..., str]) -> None:
    text = rendered("terminal", synthetic.h200())
    assert "\x1b" not in text
    assert "columns 1 to" not in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_a_terminal_gets_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    out = Screen()
    terminal.write(runs_document([synthetic.h200()]), out, width=100)
    assert "\x1b[" in out.getvalue()


def test_brackets_in_names_are_text_and_no_markup(rendered: Callable[..., str]) -> None:
    run = synthetic.run([], device=synthetic.gpu(name="[bold]GPU[/bold] [/]"))
    assert "[bold]GPU[/bold] [/]" in rendered("terminal", run)


def test_tables_have_as_many_cells_as_headings(rendered: Callable[..., str]) -> None:
    run = synthetic.run(synthetic.h200().cases, device=synthetic.gpu(name="a|b"))
    blocks = [block.splitlines() for block in rendered("markdown", run).split("\n\n") if block.startswith("|")]
    assert len(blocks) > 4
    for block in blocks:
        assert len({line.replace("\\|", "").count("|") for line in block}) == 1
        assert set(block[1]) <= set("|-:")


def test_names_cannot_become_markup_of_markdown(rendered: Callable[..., str]) -> None:
    run = synthetic.run([], name="*run*", device=synthetic.gpu(name="<img src=x> [link](there)\n# heading"))
    text = rendered("markdown", run)
    assert "<img" not in text.replace("\\<img", "")
    assert "\n# heading" not in text
    assert "\\[link\\]" in text
    assert "\\*run\\*" in text


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
