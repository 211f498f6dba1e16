"""Graphs of CUDA are read from their nodes: `graphs_check.cpp` does the checking, over a driver that has some."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.compiling import compile_program

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[2]
NATIVE = REPOSITORY / "native" / "tracer"


@pytest.mark.thorough
def test_graphs_are_read_from_their_nodes(run_cpp: Callable[..., str]) -> None:
    name = "libcuda.so.1"
    source = REPOSITORY / "tests" / "integration" / "fakes" / "fake_graph_nodes.cpp"
    flags = ("-fPIC", f"-I{REPOSITORY / 'native'}")
    driver = compile_program(name, [source], flags, ["-shared", f"-Wl,-soname,{name}"])
    sources = (NATIVE / "cuda" / f"{name}.cpp" for name in ("graphs", "copy_place", "functions"))
    links = ("-Wl,--no-as-needed", str(driver), f"-Wl,-rpath,{driver.parent}")
    run_cpp(HERE / "graphs_check.cpp", *sources, flags=links)
