"""Programs in C++ that use the C interface, and programs of Python over the fake driver."""

import json
import shutil
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import isthmus
from tests.compiling import compile_program
from tests.processes import Done, python
from tests.processes import isthmus as ended_isthmus

_HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def linked() -> Callable[[str], Path]:
    """A program made of one source of this folder, linked with libisthmus."""

    def linked(source: str) -> Path:
        library = isthmus.get_library_dir()
        options = ["-O1", "-pthread", f"-I{_HERE.parents[2] / 'include'}"]
        links = ["-listhmus", "-Wl,--allow-shlib-undefined", "-Xlinker", "-rpath", "-Xlinker", str(library)]
        return compile_program(Path(source).stem, [_HERE / source], options, [f"-L{library}", *links])

    return linked


Ran = Callable[..., Done]


@pytest.fixture(scope="session")
def on_fake(compiled: Callable[..., Path]) -> Ran:
    """Runs a program of Python over the fake driver without some functions; what hangs fails after two minutes."""

    def on_fake(program: str, *arguments: str, omitted: Iterable[str] = (), **environment: str) -> Any:
        folder = str(compiled("fake_cuda.cpp", *omitted).parent)
        return python(
            textwrap.dedent(program),
            *arguments,
            env={"LD_LIBRARY_PATH": folder, "FAKE_CUDA_FAIL": ""} | environment,
            cwd=_HERE.parents[2],
        )

    return on_fake


@pytest.fixture(scope="session")
def told(on_fake: Ran) -> Callable[..., Any]:
    """What such a program prints as JSON; after a `setup` it is its `result`."""

    def told(program: str, *arguments: str, setup: str = "", **options: Any) -> Any:
        if setup:
            program = f"{setup}{textwrap.dedent(program)}\nprint(json.dumps(result))"
        done = on_fake(program, *arguments, **options)
        assert done.returncode == 0, (done.returncode, done.stderr)
        return json.loads(done.stdout)

    return told


@pytest.fixture
def build(tmp_path: Path, compiled: Callable[..., Path]) -> Callable[..., None]:
    """Puts a fake library into the folder that `isthmus` looks for drivers in."""

    def build(library: str, source: str, *omitted: str) -> None:
        shutil.copy(compiled(source, *omitted), tmp_path / library)

    return build


@pytest.fixture(name="isthmus")
def run_isthmus(tmp_path: Path) -> Ran:
    """Runs a command line with the fake libraries before any real ones."""

    def run(*words: str, **environment: str) -> Done:
        return ended_isthmus(*words, env={"LD_LIBRARY_PATH": str(tmp_path)} | environment, cwd=tmp_path)

    return run
