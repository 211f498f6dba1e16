"""How blocks are laid out: widths, wrapping, commands that stay whole, no colours in a pipe."""

import io
import re

import pytest
from rich.console import Console

from isthmus.commands._block import Block, near_size, print_block
from isthmus.record import GIB, KIB, MIB

_COMMAND = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"


def _printed(block: Block, width: int, *, terminal: bool = False) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=terminal, color_system="truecolor" if terminal else None)
    print_block(console, block)
    return stream.getvalue()


def _block() -> Block:
    block = Block("cuda:0  NVIDIA H200 [bold] :warning:")
    block.add("link", "PCIe 5.0 x16 now, " * 12)
    block.remark("A remark that is long enough to take more than a single line of any terminal in use.", _COMMAND)
    return block


@pytest.mark.parametrize("width", [80, 100, 300])
def test_lines_fit_and_commands_stay_whole(width: int) -> None:
    lines = _printed(_block(), width).splitlines()
    assert max(map(len, lines)) <= min(width, 100)
    assert _COMMAND in [line.strip() for line in lines]


def test_a_command_wider_than_the_terminal_is_neither_cut_nor_broken() -> None:
    assert _COMMAND in [line.strip() for line in _printed(_block(), 40).splitlines()]


def test_brackets_and_colons_of_a_device_are_not_markup() -> None:
    assert _printed(_block(), 80).startswith("cuda:0  NVIDIA H200 [bold] :warning:\n")


def test_a_pipe_gets_the_words_of_the_terminal_without_colours() -> None:
    piped, colored = _printed(_block(), 80), _printed(_block(), 80, terminal=True)
    assert "\x1b" not in piped
    assert "\x1b" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == piped


def test_rows_with_nothing_to_say_are_left_out() -> None:
    block = Block("host")
    block.add("address", "")
    assert block.rows == []


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


def test_commands_of_one_remark_are_aligned() -> None:
    block = Block("host")
    block.remark("Either of these:", _COMMAND, "ulimit -l unlimited")
    lines = _printed(block, 80).splitlines()[2:4]
    assert [len(line) - len(line.lstrip()) for line in lines] == [80 - len(_COMMAND)] * 2


def test_a_label_longer_than_its_column_keeps_its_distance() -> None:
    block = Block("cuda:0")
    block.add("confidential_computing", "off")
    assert "  confidential_computing off" in _printed(block, 80)
