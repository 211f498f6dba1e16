"""Code of changes that no plan has: it compiles against the interpreters and headers that are here."""

import os
import re
import shutil
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from isthmus.advice.code import own_code, way_code
from isthmus.advice.records import Interface
from isthmus.record import BufferNeed
from tests.processes import ended

CHANGES = ("duplicate", "overlap", "pinned_in_loop", "prefetch", "round_trip", "small_copies", "synchronous", "waits")
# Torch has no managed memory, and no trace of OpenCL tells when pages move.
NOT_OF = {
    "torch": {"prefetch"},
    "opencl": {"prefetch", "small_copies"},
    # Plans have code of their own.
    "cuda": {"small_copies"},
    "cupy": {"small_copies"},
}
LANGUAGES: dict[Interface, set[str]] = {"cuda": {"cuda", "torch", "cupy"}, "opencl": {"opencl"}}
PYTHON = {"torch", "cupy"}


def test_every_text_is_of_a_change() -> None:
    folder = files("isthmus.advice") / "snippets"
    names = {file.name for language in folder.iterdir() for file in language.iterdir()}
    assert names == {f"{change}.txt" for change in CHANGES}


@pytest.mark.parametrize("interface", LANGUAGES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_has_code_that_can_be_read_without_scrolling(change: str, interface: Interface) -> None:
    code = own_code(change, interface)
    assert set(code) == {each for each in LANGUAGES[interface] if change not in NOT_OF.get(each, ())}
    for language, text in code.items():
        assert max(map(len, text.splitlines())) <= 120
        if language in PYTHON:
            compile(text, language, "exec")


def test_cuda_compiles(tmp_path: Path) -> None:
    nvcc = os.environ.get("ISTHMUS_NVCC") or shutil.which("nvcc")
    places = (Path(each) for each in sys.path if each)
    nvcc = nvcc or next((str(path) for each in places for path in each.glob("nvidia/cu*/bin/nvcc")), None)
    if nvcc is None:
        pytest.skip("no nvcc: on PATH, in ISTHMUS_NVCC, or as nvidia-cuda-nvcc with nvidia-cuda-runtime from PyPI")
    bodies = [
        re.sub("^#include.*$", "", own_code(change, "cuda")["cuda"], flags=re.MULTILINE)
        for change in sorted(set(CHANGES) - NOT_OF["cuda"])
    ]
    texts = [f"namespace n{place} {{{body}}}\n" for place, body in enumerate(bodies)]
    source = tmp_path / "snippets.cu"
    source.write_text("#include <cuda_runtime.h>\n" + "".join(texts), "utf-8")
    command = [nvcc, "-std=c++17", "-Werror=all-warnings", "-ptx", "-o", str(tmp_path / "snippets.ptx"), str(source)]
    compiled = ended(*command)
    assert compiled.returncode == 0, compiled.stderr


def test_opencl_compiles(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    places = [Path("/usr/include"), *(path for each in sys.path for path in Path(each).glob("nvidia/cu*/include"))]
    headers = next((path for path in places if (path / "CL" / "cl.h").is_file()), None)
    if compiler is None or headers is None:
        pytest.skip("no C compiler, or no CL/cl.h: install opencl-headers")
    for change in set(CHANGES) - NOT_OF["opencl"]:
        source = tmp_path / f"{change}.c"
        source.write_text(f"#define CL_TARGET_OPENCL_VERSION 120\n{own_code(change, 'opencl')['opencl']}", "utf-8")
        command = [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{headers}", str(source)]
        compiled = ended(*command)
        assert compiled.returncode == 0, compiled.stderr


def test_a_way_of_a_plan_has_the_plans_code() -> None:
    code = way_code(BufferNeed(1 << 20), "registered", "cuda")
    assert "cudaHostRegister" in code["cuda"]
    assert "opencl" not in code
    # OpenCL has no such call.
    assert not way_code(BufferNeed(1 << 20), "registered", "opencl")
    assert set(way_code(BufferNeed(1 << 20), "staging", "opencl")) == {"opencl", "isthmus"}
