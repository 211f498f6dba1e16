"""benchmarks/neighbours.py says so, and ends well, where there is nothing to measure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_REPOSITORY = Path(__file__).resolve().parents[2]


def test_without_a_device_of_cuda_nothing_is_measured() -> None:
    done = subprocess.run(
        [sys.executable, _REPOSITORY / "benchmarks" / "neighbours.py"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": ""},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout in {"skipped: torch is not installed\n", "skipped: torch sees no device of CUDA\n"}
