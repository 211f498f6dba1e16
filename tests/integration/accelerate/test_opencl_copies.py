"""OpenCL programs whose copies the library makes: as the driver makes them, in all that a program can see."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from isthmus.ledger import Counts
from isthmus.machine import devices
from tests.integration.accelerate import programs

REACHES = ("linked",) if programs.IS_SANITIZED else ("linked", "dlsym")
ROUNDS = "6"


class Program(NamedTuple):
    """One that copies by OpenCL, the loader that it is linked with, and the driver behind that: PoCL."""

    path: Path
    loader: Path
    driver: str

    def told(self, reach: str, *before: str, rounds: str = ROUNDS, **more: str) -> tuple[str, str]:
        """What it printed on its streams."""
        words: list[str | Path] = [*before, self.path, reach, rounds]
        done = programs.ran(words, self.loader, **{**more, "OPENCL_DRIVER": self.driver})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout, done.stderr

    def accelerated(self, reach: str, folder: Path, options: str = "eager", rounds: str = ROUNDS) -> tuple[str, Counts]:
        """What it printed, and what was counted."""
        words: list[str | Path] = [self.path, reach, rounds]
        return programs.accelerated(words, self.loader, folder, options, OPENCL_DRIVER=self.driver)


@pytest.fixture(scope="module")
def program(compiled: Callable[..., Path], build: Callable[..., Path]) -> Program:
    drivers = [path for path in devices._drivers("opencl") if "pocl" in path]
    if not drivers:
        pytest.skip("needs PoCL: pip install pocl-binary-distribution")
    loader = compiled("opencl_loader.cpp")
    linked = build("opencl_copies.cpp", "-Wl,--no-as-needed", str(loader), f"-Wl,-rpath,{loader.parent}")
    return Program(linked, loader, drivers[0])


@pytest.mark.parametrize("reach", REACHES)
def test_copies_are_as_the_driver_makes_them(program: Program, reach: str, tmp_path: Path) -> None:
    told, counts = program.accelerated(reach, tmp_path)
    assert told == program.told(reach)[0]
    assert {row.way for row in counts.moved if row.copies} == {"h2d", "d2h"}
    assert sum(row.copies for row in counts.moved) >= int(ROUNDS)
    assert not counts.failures
    assert counts.left["off"] == counts.left["failed"] == (0, 0)
    # Events with times, both copies; a queue without order, both; and what outlived the program's hold on a context.
    assert counts.left["unordered"][0] == 4
    assert counts.left["other_context"][0] == 2


def test_copies_are_compared_with_the_driver_s(program: Program, tmp_path: Path) -> None:
    _, counts = program.accelerated(REACHES[-1], tmp_path, "eager,verify")
    assert counts.checked >= int(ROUNDS)
    assert counts.wrong == 0


@pytest.mark.parametrize(
    "options",
    [
        *("eager,budget=2097152,threads=1", "eager,sample=2,min=1"),
        pytest.param("eager,budget=0", marks=pytest.mark.thorough),
    ],
)
def test_other_options_change_nothing_that_a_program_sees(program: Program, options: str, tmp_path: Path) -> None:
    told, counts = program.accelerated(REACHES[0], tmp_path, options)
    assert told.endswith("wrong: 0\n")
    assert counts.left["failed"] == (0, 0)


def test_a_device_that_works_in_the_hosts_memory_keeps_its_driver(program: Program, tmp_path: Path) -> None:
    """PoCL copies once, and so would the library, after its own start."""
    told, counts = program.accelerated(REACHES[0], tmp_path, "min=4096", rounds="4")
    assert told.endswith("wrong: 0\n")
    assert counts.moved == []
    assert counts.left["small"][0] > 0


def test_small_copies_are_passed_on_unseen(program: Program, tmp_path: Path) -> None:
    _, counts = program.accelerated(REACHES[0], tmp_path, f"eager,min={1 << 40}", rounds="4")
    assert counts.moved == []
    assert counts.processes == 0


def test_a_program_is_reported_on(program: Program) -> None:
    plain = partial(program.told, "linked", rounds="4")
    out, err = plain(
        *(sys.executable, "-P", "-m", "isthmus", "accelerate", "--report", "--"), ISTHMUS_ACCELERATE_OPTIONS="eager"
    )
    assert out == plain()[0]
    assert f"What Isthmus did for {program.path.name}" in err
    assert "OpenCL queue without order" in err
