"""What takes seconds is named on a terminal, and nowhere else."""

import os
import pty
import subprocess
import sys

import pytest

PROGRAM = """
from isthmus.commands._progress import working_on
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
    assert ("writing [red] run.html" in told, told == "") == (on_terminal, not on_terminal)
