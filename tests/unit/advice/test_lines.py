"""The few lines of the first screen: there is a paragraph for every change that findings name, and it can be read."""

import ast

import pytest

from isthmus.advice.lines import LIBRARIES, lines_for

CHANGES = (
    *("pageable-new-h2d", "pageable-same-h2d", "pageable-staging-h2d", "pageable-d2h", "small-copies", "strided"),
    *(
        "device-copies",
        "queued-behind",
        "double-copy",
        "overlap",
        "synchronous",
        "waits",
        "waits-own",
        "waits-calls",
        "duplicate",
        "round-trip",
        "pinned-in-loop",
    ),
)
# What has no calls of its own in a library; CUDA's is then shown.
PYTHON = ("torch", "jax", "cupy")


@pytest.mark.parametrize("change", CHANGES)
def test_torch_and_cuda_have_every_change(change: str) -> None:
    assert lines_for(change, "torch")
    assert lines_for(change, "cuda") or change == "round-trip"


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_of_few_lines(change: str, library: str) -> None:
    lines = lines_for(change, library).splitlines()
    assert len(lines) <= 6
    assert max(map(len, lines), default=0) <= 120
    if library in PYTHON:
        ast.parse("\n".join(lines).replace("...", "*rest"))


def test_torch_says_how_a_tensor_is_made_in_pinned_memory() -> None:
    """By advice on memory that the program makes anew before each copy; others show how memory is got once."""
    lines = lines_for("pageable-made-h2d", "torch")
    assert "out=host" in lines
    ast.parse(lines)


def test_hip_has_cudas_by_its_own_names() -> None:
    assert "hipHostRegister" in lines_for("pageable-same-h2d", "hip")
    assert "cuda" not in lines_for("overlap", "hip")


def test_what_nobody_has_is_empty() -> None:
    assert lines_for("nothing", "torch") == lines_for("waits", "fortran") == ""
