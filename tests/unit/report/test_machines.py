"""How machines are laid out in a terminal: widths, wrapping, commands that stay whole, no colours in a pipe."""

import io
import re

import pytest

from isthmus.commands._machine_words import near_size
from isthmus.document.document import Document, Machine, Machines
from isthmus.record import GIB, KIB, MIB
from isthmus.report.renderers import terminal

_COMMAND = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def _printed(width: int, stream: io.StringIO) -> str:
    machine = Machine("cuda:0  NVIDIA H200 [bold] :warning:")
    machine.add("address", "")
    machine.add("link", "PCIe 5.0 x16 now, " * 12)
    machine.remark("A remark that is long enough to take more than a single line of any terminal in use.", _COMMAND)
    terminal.write(Document("devices", "Devices", (Machines((machine,)),)), stream, width=width)
    return stream.getvalue()


@pytest.mark.parametrize("width", [80, 100, 300])
def test_lines_fit_and_commands_stay_whole(width: int) -> None:
    lines = _printed(width, io.StringIO()).splitlines()
    assert max(map(len, lines)) <= min(width, 100)
    assert _COMMAND in [line.strip() for line in lines]


def test_a_command_wider_than_the_terminal_is_neither_cut_nor_broken() -> None:
    assert _COMMAND in [line.strip() for line in _printed(40, io.StringIO()).splitlines()]


def test_brackets_and_colons_of_a_device_are_not_markup() -> None:
    text = _printed(80, io.StringIO())
    assert "cuda:0  NVIDIA H200 [bold] :warning:\n  link          PCIe 5.0 x16 now," in text
    assert "address" not in text


def test_a_pipe_gets_the_words_of_the_terminal_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    piped, colored = _printed(80, io.StringIO()), _printed(80, _Screen())
    assert "\x1b" not in piped
    assert "\x1b" in colored
    plain = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert [line.rstrip() for line in plain.splitlines()] == piped.splitlines()


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (150754820096, "140.4 GiB"),
        (105 * MIB, "105 MiB"),
        (4 * KIB, "4 KiB"),
        (1536 * MIB, "1.5 GiB"),
        (2048 * GIB, "2048 GiB"),
        (12, "12 B"),
        (0, "0 B"),
    ],
)
def test_sizes_to_one_decimal(count: int, words: str) -> None:
    assert near_size(count) == words


def _lines(machine: Machine) -> list[str]:
    out = io.StringIO()
    terminal.write(Document("devices", "Devices", (Machines((machine,)),)), out, width=80)
    return out.getvalue().splitlines()


def test_commands_of_one_remark_are_aligned() -> None:
    machine = Machine("host")
    machine.remark("Either of these:", _COMMAND, "ulimit -l unlimited")
    long, short = _lines(machine)[-2:]
    assert len(long) - len(long.lstrip()) == len(short) - len(short.lstrip())


def test_a_label_longer_than_its_column_keeps_its_distance() -> None:
    machine = Machine("cuda:0")
    machine.add("confidential_computing", "off")
    assert "  confidential_computing off" in _lines(machine)
