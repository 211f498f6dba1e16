"""Programs under `isthmus races`: the driver under them, and how they are built and run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.compiling import compile_program
from tests.processes import Done, ended, isthmus

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]

Build = Callable[..., Path]


class Looked(NamedTuple):
    """How a program ended, and what was reported of it."""

    done: Done
    report: dict[str, Any]

    @property
    def touches(self) -> int:
        """How often a copy was touched that nothing had waited for."""
        return sum(race["count"] for race in self.report["races"])

    @property
    def pairs(self) -> int:
        """How often that was by a stream."""
        return sum(race["count"] for race in self.report["races"] if race["between_streams"])


@pytest.fixture(scope="session")
def build() -> Build:
    def build(name: str, *more: str) -> Path:
        # Fortified, as some compilers do by default: the C library's checked functions are called, too.
        options = [
            "-O1",
            "-g",
            "-U_FORTIFY_SOURCE",
            "-D_FORTIFY_SOURCE=2",
            f"-I{REPOSITORY / 'native'}",
            f"-I{REPOSITORY}",
            "-pthread",
            *more,
        ]
        return compile_program(name, [HERE / f"{name}.cpp"], options)

    return build


@pytest.fixture
def surroundings(compiled: Callable[..., Path]) -> dict[str, str]:
    """A driver whose copies go past the protection of pages and whose long copies take time, as those of devices."""
    folder = str(compiled("fake_cuda.cpp").parent)
    return {"LD_LIBRARY_PATH": folder, "FAKE_CUDA_DMA": "1", "FAKE_CUDA_LATE": "1", "FAKE_CUDA_DEVICES": "2"}


@pytest.fixture
def look(surroundings: dict[str, str], tmp_path: Path) -> Callable[..., Looked]:
    """Runs a program as `isthmus races` does."""

    def look(*words: str | Path, options: tuple[str, ...] = ()) -> Looked:
        report = tmp_path / "report.json"
        done = isthmus("races", "--force", "-o", report, *options, "--", *words, env=surroundings)
        assert report.exists(), done.stderr
        return Looked(done, json.loads(report.read_text("utf-8")))

    return look


@pytest.fixture
def plainly(surroundings: dict[str, str]) -> Callable[..., Done]:
    """Runs a program by itself."""
    return lambda *words: ended(*words, env=surroundings)
