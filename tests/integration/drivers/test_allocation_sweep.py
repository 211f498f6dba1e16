"""Each allocation that the library makes fails in turn: no process dies, no wrong byte is called right."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import isthmus

_HERE = Path(__file__).resolve()
_REPOSITORY = _HERE.parents[3]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("needs g++")
    program = tmp_path_factory.mktemp("sweep") / "allocation_sweep"
    library = isthmus.get_library_dir()
    options = ["-std=c++20", "-O1", "-pthread", f"-I{_REPOSITORY / 'include'}"]
    links = [f"-L{library}", "-listhmus", f"-Wl,-rpath,{library}"]
    subprocess.run([compiler, *options, _HERE.with_name("allocation_sweep.cpp"), "-o", program, *links], check=True)
    return program


# What opening a session allocates is mostly the names of files: every few points are enough. Under the
# address sanitizer a few of all others are.
@pytest.mark.thorough
@pytest.mark.parametrize("lasting", ["once", "sticky"])
@pytest.mark.parametrize(("phase", "least", "stride"), [("open", 500, 41), ("copies", 300, 1)])
@pytest.mark.parametrize("device", ["host", "cuda:0"])
def test_none_costs_a_process_or_a_byte(
    sweep: Path,
    compiled: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    phase: str,
    least: int,
    stride: int,
    lasting: str,
) -> None:
    if device != "host":
        monkeypatch.setenv("LD_LIBRARY_PATH", str(compiled("fake_cuda.cpp").parent))
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        stride *= 11
    done = subprocess.run([sweep, device, phase, lasting, str(stride)], capture_output=True, text=True, check=False)
    *bad, last = done.stdout.splitlines()
    assert bad == [], f"{last}: {done.stderr[-2000:]}"
    points = int(last.split()[1])
    assert points >= least, "the sweep reaches what allocates"
