"""What calls of CUDA move and where, read from their parameters."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.compiling import compile_program

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
NATIVE = REPOSITORY / "native" / "tracer"


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
def test_graphs_are_read_from_their_nodes(run_cpp: Callable[..., str]) -> None:
    name = "libcuda.so.1"
    source = REPOSITORY / "tests" / "integration" / "fakes" / "fake_graph_nodes.cpp"
    flags = ("-fPIC", f"-I{REPOSITORY / 'native'}")
    driver = compile_program(name, [source], flags, ["-shared", f"-Wl,-soname,{name}"])
    sources = (NATIVE / "cuda" / f"{name}.cpp" for name in ("graphs", "copy_place", "functions"))
    links = ("-Wl,--no-as-needed", str(driver), f"-Wl,-rpath,{driver.parent}")
    run_cpp(HERE / "graphs_check.cpp", *sources, flags=links)
