"""The contract suite's tests of order and of borrowed memory, on the fake CUDA driver: also where there is no GPU."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.parametrize("suite", ["borrowed", "copy", "lifetime", "streams"])
def test_the_cuda_backend_keeps_the_contract_on_the_fake_driver(compiled: Callable[..., Path], suite: str) -> None:
    repository = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            f"tests/contract/test_{suite}.py",
            "-k",
            "cuda:0",
            "-q",
            "-p",
            "no:cacheprovider",
        ],
        env=os.environ | {"LD_LIBRARY_PATH": str(compiled("fake_cuda.cpp").parent)},
        cwd=repository,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout
