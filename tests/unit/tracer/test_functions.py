"""What calls of CUDA move and where, read from their parameters."""

import shutil
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


@pytest.mark.thorough
def test_graphs_are_read_from_their_nodes(
    build_cpp: Callable[..., Path], run_cpp: Callable[..., str], tmp_path: Path
) -> None:
    driver = tmp_path / "libcuda.so.1"
    flags = ("-shared", "-fPIC", f"-Wl,-soname,{driver.name}")
    shutil.copy(build_cpp(HERE / "graph_driver.cpp", flags=flags), driver)
    sources = (NATIVE / "cuda" / f"{name}.cpp" for name in ("graphs", "copy_place", "functions"))
    links = ("-Wl,--no-as-needed", str(driver), f"-Wl,-rpath,{tmp_path}")
    run_cpp(HERE / "graphs_check.cpp", *sources, flags=links)
