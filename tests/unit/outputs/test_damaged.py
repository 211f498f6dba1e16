"""Outputs that were cut off, changed anywhere or pasted behind one another: an error in words, or a screen."""

import io
import random
from pathlib import Path

import pytest

from isthmus.compare import judge_together
from isthmus.errors import RunFileError
from isthmus.report.outputs import outputs_document
from isthmus.report.renderers import terminal
from tests.unit.outputs.test_known_endings import THREADS, read

PIECES = ("0", "9", " ", "\n", ".", ",", "N/A", "x", "e", "-", "")


def changed(text: str, draw: random.Random) -> str:
    letters = list(text)
    for _ in range(draw.randrange(1, 30)):
        letters[draw.randrange(len(letters))] = draw.choice(PIECES)
    return "".join(letters)


@pytest.mark.parametrize("name", THREADS)
def test_damage_is_an_error_or_a_screen(name: str, tmp_path: Path) -> None:
    draw = random.Random(name)
    texts = THREADS[name][1]
    others = THREADS[draw.choice(list(THREADS))][1]
    for damaged in (
        [text[: draw.randrange(len(text) + 1)] for text in texts],
        [changed(text, draw) for text in texts],
        ["\n".join([*texts, *others])],
    ):
        screen = io.StringIO()
        try:
            outputs = read(damaged, tmp_path)
        except RunFileError:
            continue
        document = outputs_document(judge_together(outputs.runs), outputs.unread, columns=80)
        terminal.write(document, screen, width=80)
        assert 0 < screen.getvalue().count("\n") <= 15, screen.getvalue()
