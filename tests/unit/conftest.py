"""What unit tests share: a C++ compiler, and files inside NVIDIA's packages."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def build_cpp(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compiles C++ sources into a program; what does not compile fails the test."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")

    def build(*sources: Path, flags: tuple[str, ...] = ()) -> Path:
        if compiler is None:
            pytest.skip("needs a C++ compiler: g++, or the one that CXX names")
        program = tmp_path_factory.mktemp("cpp") / "program"
        command = [*compiler.split(), "-std=c++20", "-Wall", "-Wextra", f"-I{REPOSITORY / 'native'}", *flags]
        command += ["-o", str(program), *map(str, sources)]
        compiled = subprocess.run(command, capture_output=True, text=True, check=False)
        assert compiled.returncode == 0, compiled.stderr
        return program

    return build


@pytest.fixture(scope="session")
def run_cpp(build_cpp: Callable[..., Path]) -> Callable[..., str]:
    """Compiles C++ sources into a program, runs it, and gives what it printed; either failing fails the test."""

    def run(*sources: Path, flags: tuple[str, ...] = ()) -> str:
        ran = subprocess.run([build_cpp(*sources, flags=flags)], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    return run


@pytest.fixture(scope="session")
def nvidia_file() -> Callable[[str, str, str], Path]:
    """Finds a file of a package that unpacks into the namespace `nvidia`, such as `bin/ptxas` in `nvidia.cu13`."""

    def find(module: str, relative: str, package: str) -> Path:
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            spec = None
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            path = Path(folder) / relative
            if path.exists():
                return path
        pytest.skip(f"needs {package}: pip install 'isthmus[ptx]'")

    return find
