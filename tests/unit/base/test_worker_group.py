"""Host threads that work together: `worker_group_check.cpp` does the checking, among it what only C++ can arrange."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.thorough
def test_threads_work_fail_and_get_stuck_as_promised(repository: Path, run_cpp: Callable[..., str]) -> None:
    check = Path(__file__).with_name("worker_group_check.cpp")
    sources = [repository / "native" / "base" / name for name in ("worker_group.cpp", "limits/call_filter.cpp")]
    assert run_cpp(check, *sources, flags=("-O2", "-pthread", "-ldl")) == "as promised\n"
