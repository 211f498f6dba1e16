"""The example programs of transfers: those in C by the fake driver, those of Python on the host."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import ended

_EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "transfers"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the programs, built as a user builds them."""
    if shutil.which("make") is None or shutil.which("cc") is None:
        pytest.skip("needs make and a C compiler")
    folder = Path(shutil.copytree(_EXAMPLES, tmp_path_factory.mktemp("examples") / "transfers"))
    flags = "-O2 -Wall -Wextra -Wpedantic -Werror"
    done = ended("make", "-C", str(folder), f"CFLAGS={flags}")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def run(programs: Path, compiled: Callable[..., Path]) -> Run:
    """Runs one with the fake driver, or without any."""

    def run(name: str, *words: str, driver: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        folder = str(compiled("fake_cuda.cpp").parent) if driver else str(programs)
        return ended(str(programs / name), *words, env={"LD_LIBRARY_PATH": folder, **environment})

    return run


RATES = re.compile(r"(Host to Device|Device to Host) bandwidth \(GB/s\): (\d+\.\d+)")


def test_bandwidth_test_prints_four_rates_of_each_size(run: Run) -> None:
    done = run("bandwidthTest", "1", "2")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"Transfer size \(MB\): (\d+)", done.stdout) == ["1", "2"]
    assert [way for way, _ in RATES.findall(done.stdout)] == ["Host to Device", "Device to Host"] * 4
    assert "failed" not in done.stdout


@pytest.mark.parametrize("size", ["0", "x", "-3", "99999999"])
def test_a_size_that_is_none_is_refused(run: Run, size: str) -> None:
    done = run("bandwidthTest", size)
    assert (done.returncode, done.stderr) == (2, f"not a size in MiB: {size}; expected 1 to 65536\n")


def test_what_is_profiled_copies_and_says_nothing(run: Run) -> None:
    done = run("profile_test")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_overlaps_comes_back_unchanged(run: Run) -> None:
    done = run("overlap")
    assert done.returncode == 0, done.stderr
    assert "ms on one stream" in done.stdout
    assert done.stdout.endswith("contents unchanged\n")


@pytest.mark.parametrize("name", ["bandwidthTest", "profile_test", "overlap"])
def test_without_a_driver_they_say_so(run: Run, name: str) -> None:
    if any(Path(folder, "libcuda.so.1").exists() for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64")):
        pytest.skip("there is a driver here")
    done = run(name, driver=False)
    assert done.returncode == 1
    assert done.stderr.startswith("no NVIDIA driver here: ")


def test_those_of_python_run_on_any_device() -> None:
    rates = ended(sys.executable, str(_EXAMPLES / "bandwidth_test.py"), "host", "1", "2")
    assert rates.returncode == 0, rates.stderr
    assert len(RATES.findall(rates.stdout)) == 8
    assert "failed" not in rates.stdout
    silent = ended(sys.executable, str(_EXAMPLES / "profile_test.py"), "host")
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, "", "")
