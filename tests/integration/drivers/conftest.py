"""Programs in C++ that use the C interface."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import isthmus

_HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A program made of one source of this folder, linked with libisthmus."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")

    def linked(source: str) -> Path:
        program = tmp_path_factory.mktemp("linked") / Path(source).stem
        library = isthmus.get_library_dir()
        options = ["-std=c++20", "-O1", "-pthread", f"-I{_HERE.parents[2] / 'include'}"]
        links = [
            f"-L{library}",
            "-listhmus",
            "-Wl,--allow-shlib-undefined",
            "-Xlinker",
            "-rpath",
            "-Xlinker",
            str(library),
        ]
        subprocess.run([compiler, *options, _HERE / source, "-o", program, *links], check=True)
        return program

    return linked
