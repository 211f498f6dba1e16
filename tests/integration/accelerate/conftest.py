"""Programs that are accelerated: the driver under them, and how they are built."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.compiling import compile_program

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def driver(compiled: Callable[..., Path]) -> Path:
    return compiled("fake_cuda.cpp")


@pytest.fixture(scope="session")
def build(driver: Path) -> Callable[..., Path]:
    """Builds a program of this folder with these flags of the compiler; linked with the driver if that is asked for."""

    def build(source: str, *flags: str, linked: bool = False) -> Path:
        links = [flag for flag in flags if flag.startswith("-Wl,") or ".so" in Path(flag).name]
        options = ["-O1", f"-I{HERE.parents[2] / 'native'}", "-pthread", *(flag for flag in flags if flag not in links)]
        if linked:
            options, links = [*options, "-DLINKED"], [*links, str(driver), f"-Wl,-rpath,{driver.parent}"]
        return compile_program(Path(source).stem, [HERE / source], options, links)

    return build


@pytest.fixture(scope="session")
def program(build: Callable[..., Path]) -> Path:
    """The program that copies in all ways, linked with the fake driver; its copies are of a few chunks at most."""
    return build("accelerated_program.cpp", "-DMOST_MIB=8", linked=True)


@pytest.fixture(scope="session")
def random_copies(build: Callable[..., Path]) -> Path:
    """The one that makes as many random copies as it is told to."""
    return build("random_copies.cpp", "-O2")
