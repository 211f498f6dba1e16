"""What takes seconds is named on a terminal, and nowhere else."""

import os
import pty
import subprocess
import sys

import pytest

PROGRAM = """
from isthmus.commands._progress import working_on
with working_on("reading a small trace", after=600):
    pass
with working_on("writing [red] run.html"):
    pass
print("done")
"""


@pytest.mark.parametrize("on_terminal", [True, False])
def test_what_takes_seconds_is_named_on_a_terminal_alone(on_terminal: bool) -> None:
    shown, given = pty.openpty() if on_terminal else os.pipe()
    done = subprocess.run([sys.executable, "-c", PROGRAM], stderr=given, stdout=subprocess.PIPE, text=True, check=True)
    if not on_terminal:
        os.close(given)
    told = os.read(shown, 65536).decode()
    os.close(shown)
    assert done.stdout == "done\n"
    assert "reading" not in told
    assert ("writing [red] run.html" in told, told == "") == (on_terminal, not on_terminal)


LATE = """
import time
from isthmus.commands import _progress
started = []
make = _progress._on_terminal

def watched(*columns):
    progress = make(*columns)
    start = progress.start
    progress.start = lambda: (start(), started.append(True))
    return progress

_progress._on_terminal = watched
with _progress.working_on("reading a large trace", after=0.01):
    while not started:
        time.sleep(0.01)
print("done")
"""


def test_what_takes_longer_is_named_then() -> None:
    shown, given = pty.openpty()
    done = subprocess.run([sys.executable, "-c", LATE], stderr=given, stdout=subprocess.PIPE, text=True, check=True)
    told = os.read(shown, 65536).decode()
    os.close(shown)
    os.close(given)
    assert done.stdout == "done\n"
    assert "reading a large trace" in told
