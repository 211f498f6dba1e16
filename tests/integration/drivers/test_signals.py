"""Threads of the library take none of a program's signals, whether it waits for them or handles them itself."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import ended


@pytest.fixture(scope="module")
def program(linked: Callable[[str], Path]) -> Path:
    return linked("signals.cpp")


@pytest.mark.thorough
@pytest.mark.parametrize("device", ["host", "cuda:0"])
@pytest.mark.parametrize("way", ["sigwait", "handler"])
def test_a_program_gets_its_own(program: Path, compiled: Callable[..., Path], device: str, way: str) -> None:
    fake = {} if device == "host" else {"LD_LIBRARY_PATH": str(compiled("fake_cuda.cpp").parent)}
    done = ended(program, device, way, env=fake)
    assert done.returncode == 0, done.stderr
