"""Some of the argument sets of tests/fuzz/fuzz_c.py, of which CI runs 50,000 a device with sanitizers."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.c_interface import get_library_dir

_FUZZER = Path(__file__).resolve().parents[1] / "fuzz" / "fuzz_c.py"


@pytest.mark.parametrize("device", ["host", pytest.param("cuda:0", marks=pytest.mark.thorough)])
def test_argument_sets_that_are_made_up(device: str, compiled: Callable[..., Path]) -> None:
    environment = dict(os.environ)
    if device != "host":
        environment["LD_LIBRARY_PATH"] = str(compiled("fake_cuda.cpp").parent)
    library = Path(get_library_dir()) / "libisthmus.so.0"
    done = subprocess.run(
        [sys.executable, _FUZZER, library, device, "7", "1500"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert f"1500 argument sets on {device}, 0 faults" in done.stdout
