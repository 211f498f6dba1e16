"""The fake driver is as a real one was recorded, and programs that are accelerated see it as it is.

`facts/driver_facts.cpp` prints one line for each fact; `facts/h100.txt` is what it printed on an H100.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.compiling import compile_program
from tests.integration.accelerate.programs import IS_SANITIZED, accelerating
from tests.processes import ended

FACTS = Path(__file__).resolve().parent / "facts"
# In a call that returns no thread is ever asleep, but for the time that one takes to wake another.
PATIENCE_MILLISECONDS = "10"
HANGS_SECONDS = 900
# Of so many facts one is looked at: those that wait take a hundredth of a second each, and so do most refusals.
CASES = [
    pytest.param("returns", 21, id="some returns"),
    pytest.param("returns", 1, id="returns", marks=pytest.mark.thorough),
    pytest.param("captures", 1, id="captures"),
    pytest.param("errors", 9, id="some errors"),
    pytest.param("errors", 1, id="errors", marks=pytest.mark.thorough),
]


@pytest.fixture(scope="session")
def program() -> Path:
    return compile_program("driver_facts", [FACTS / "driver_facts.cpp"], ["-O1", "-pthread"], ["-ldl"])


def recorded(section: str, every: int) -> list[str]:
    sections = (FACTS / "h100.txt").read_text("utf-8").split("# ")
    return next(text.splitlines()[1:] for text in sections if text.startswith(section))[::every]


def facts(program: Path, driver: Path, section: str, every: int, more: Mapping[str, str]) -> list[str]:
    given = {"LD_LIBRARY_PATH": str(driver.parent), **more}
    done = ended(program, section, PATIENCE_MILLISECONDS, str(every), env=given, timeout=HANGS_SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[1:]


@pytest.mark.parametrize(("section", "every"), CASES)
def test_the_fake_driver_is_as_the_real_one(
    compiled: Callable[..., Path], program: Path, section: str, every: int
) -> None:
    driver = compiled("fake_cuda.cpp")
    assert facts(program, driver, section, every, {"LD_PRELOAD": ""}) == recorded(section, every)


@pytest.mark.skipif(IS_SANITIZED, reason="the program gets at the driver by dlsym")
@pytest.mark.parametrize(("section", "every"), CASES)
def test_accelerated_programs_see_the_same(
    compiled: Callable[..., Path], program: Path, section: str, every: int, tmp_path: Path
) -> None:
    driver = compiled("fake_cuda.cpp")
    assert facts(program, driver, section, every, accelerating(tmp_path)) == recorded(section, every)
