"""What surrounds a program and is not as it should be: it runs as it would without the library."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.integration.accelerate.programs import command_line


def test_what_the_environment_asks_for_stays_beside_what_the_command_does(driver: Path) -> None:
    words = ["sh", "-c", "echo $ISTHMUS_ACCELERATE_OPTIONS"]
    found = command_line(["--min", "1MiB"], words, driver, ISTHMUS_ACCELERATE_OPTIONS="eager,min=5")
    assert found["out"] == "eager,min=5,min=1048576\n"


def of_others(change: str, program: Path) -> None:
    """Gives a program rights that whoever runs it has not, or skips the test."""
    if os.getuid() != 0:
        pytest.skip("needs the superuser, to give a program to another")
    os.chown(program, 65534, 65534)
    program.chmod(0o4755 if change == "setuid" else 0o2755)


@pytest.mark.parametrize("change", ["setuid", "setgid"])
def test_a_program_with_rights_of_others_is_said_to_run_without_the_library(
    change: str, driver: Path, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    shutil.copy("/bin/true", program)
    of_others(change, program)
    found = command_line([], [program], driver)
    assert found["code"] == 0
    assert f"({change}), and the linker preloads nothing into such programs" in str(found["err"])
