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
    "fake_tracing.cpp": "libcupti.so.13",
    "fake_nvml.cpp": "libnvidia-ml.so.1",
    "fake_opencl.cpp": "libOpenCL.so.1",
}


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A fake library under its real name, without the functions that are named; each source is compiled once."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++ to build the fake drivers")

    @functools.cache
    def compiled_object(source: str) -> Path:
        found = tmp_path_factory.mktemp("fake") / "fake.o"
        options = ["-std=c++20", "-O1", "-fPIC", f"-I{_REPOSITORY / 'native'}"]
        subprocess.run([compiler, *options, "-c", _HERE / source, "-o", found], check=True)
        return found

    @functools.cache
    def compiled(source: str, *omitted: str) -> Path:
        library = tmp_path_factory.mktemp("fake") / _NAMES[source]
        options = ["-shared", f"-Wl,-soname,{library.name}"]
        if omitted:
            hidden = library.with_suffix(".map")
            hidden.write_text("{ global: *; local: " + " ".join(f"{name};" for name in omitted) + " };\n")
            options.append(f"-Wl,--version-script={hidden}")
        subprocess.run([compiler, *options, compiled_object(source), "-o", library], check=True)
        return library

    return compiled
