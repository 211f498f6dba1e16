"""Vendor libraries made of host memory, compiled for the tests that need one."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

_HERE = Path(__file__).parent
_REPOSITORY = _HERE.parent.parent
_NAMES = {
    "fake_cuda.cpp": "libcuda.so.1",
    "fake_cupti.cpp": "libcupti.so.13",
    "fake_nvml.cpp": "libnvidia-ml.so.1",
}


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A fake library under its real name, without the functions that are named; each is compiled once."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++ to build the fake drivers")

    @functools.cache
    def compiled(source: str, *omitted: str) -> Path:
        library = tmp_path_factory.mktemp("fake") / _NAMES[source]
        options = ["-std=c++20", "-O1", "-shared", "-fPIC", f"-I{_REPOSITORY / 'native'}"]
        options += [f"-DOMIT_{name}" for name in omitted]
        subprocess.run([compiler, *options, _HERE / source, "-o", library], check=True)
        return library

    return compiled
