"""The report for terminals and pipes: nothing cut off, no wider than asked, marks explained."""

import io
from collections.abc import Callable

import pytest

from isthmus.record import Device, End, Host
from isthmus.report.renderers import terminal
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
