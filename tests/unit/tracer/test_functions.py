"""What calls of CUDA move and where, read from their parameters."""

from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parents[2] / "native" / "tracer"


@pytest.mark.thorough
def test_operands_are_read_as_cuda_lays_them_out(run_cpp: Callable[..., str]) -> None:
    run_cpp(HERE / "functions_check.cpp", NATIVE / "cuda" / "functions.cpp", NATIVE / "content.cpp")


@pytest.mark.thorough
def test_time_stamps_cost_a_share_of_the_time(run_cpp: Callable[..., str]) -> None:
    run_cpp(HERE / "copy_timing_check.cpp", NATIVE / "cuda" / "copy_timing.cpp")


@pytest.mark.thorough
def test_recording_kernels_costs_a_share_of_the_time(run_cpp: Callable[..., str]) -> None:
    run_cpp(HERE / "window_plan_check.cpp", NATIVE / "cuda" / "window_plan.cpp")
