"""Snippets are code: every way has its calls, which compile against the headers and interpreters that are here."""

import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from isthmus.analysis.managed.model import MANAGED_WAYS
from isthmus.analysis.pieces.cell import BATCHING, STRIDED
from isthmus.errors import UsageError
from isthmus.plan import Method
from isthmus.plan.managed import managed_name
from isthmus.plan.snippets import SNIPPET_LANGUAGES, snippet, snippet_languages
from isthmus.record import (
    MIB,
    BufferNeed,
    BufferSource,
    Interval,
    ManagedNeed,
    Need,
    PiecesNeed,
    PipelineNeed,
    SectionNeed,
    buffer_ways_of,
)
from tests.processes import ended

TIME = Interval(1e-3, 1e-3, 1e-3)
SOURCES: tuple[BufferSource, ...] = ("pageable", "pinned", "new")
PIPELINES = {
    "pageable": ("pageable", "registered"),
    "pinned": ("pinned",),
    "new": ("pageable", "pinned", "registered", "touched_registered", "touched_registered_huge"),
}


def cases() -> Iterator[tuple[Need, Method]]:
    """Every way that a plan can name, with numbers that a careless template would get wrong."""
    for origin in SOURCES:
        for direction in ("h2d", "d2h", "both"):
            for each in buffer_ways_of(origin, direction):
                yield BufferNeed(3 << 30, direction, 7, origin), Method(each.name, TIME)
    for direction in ("h2d", "d2h"):
        for name in (*BATCHING.methods, "isthmus", "copy_rows"):
            way = Method(name, TIME, options={"threads": 10} if "pack_" in name else {})
            yield PiecesNeed(70_000, 100_000, direction), way  # type: ignore[arg-type]
            yield PiecesNeed(5, 7, direction), way  # type: ignore[arg-type]
        for name in ("isthmus", *(method for method in STRIDED.methods if method != "whole")):
            way = Method(name, TIME, options={"threads": 10} if "pack_" in name else {})
            yield SectionNeed(30_720, 8, 245_760, direction), way  # type: ignore[arg-type]
            yield SectionNeed(30_720, 6, 6, direction, "pinned", 250_001), way  # type: ignore[arg-type]
    for name in map(managed_name, MANAGED_WAYS):
        yield ManagedNeed(3 << 30, fraction=0.3), Method(name, TIME)
        yield ManagedNeed(3 << 30, stride_bytes=256 << 10), Method(name, TIME)
    for source, kinds in PIPELINES.items():
        for kind in kinds:
            need = PipelineNeed(64 * MIB, 5e-3, source=source)  # type: ignore[arg-type]
            yield need, Method(f"{kind}_pipeline", TIME, options={"chunks": 12, "streams": 4})
            yield need, Method(f"{kind}_serial", TIME, options={"chunks": 1, "streams": 1})


CASES = list(cases())


def with_snippets(language: str) -> list[str]:
    """The texts in a language, each once."""
    found = [snippet(need, way, language) for need, way in CASES if language in snippet_languages(need, way.name)]
    return list(dict.fromkeys(found))


def test_every_way_has_its_calls_in_cuda_or_is_the_librarys_own() -> None:
    for need, way in CASES:
        assert ("isthmus" if way.name in {"isthmus", "copy_rows"} else "cuda") in snippet_languages(need, way.name)


@pytest.mark.parametrize("language", SNIPPET_LANGUAGES)
def test_nothing_is_left_to_be_filled(language: str) -> None:
    for text in with_snippets(language):
        assert not re.search(r"\$\w|@h2d|@d2h", text), text


@pytest.mark.parametrize("language", SNIPPET_LANGUAGES)
def test_every_template_is_that_of_a_way(language: str) -> None:
    templates = {
        file.name.removesuffix(".txt"): file.read_text("utf-8").partition("$")[0]
        for file in (files("isthmus.plan") / "snippets" / language).iterdir()
    }
    texts = with_snippets(language)
    for name, beginning in templates.items():
        assert any(text.startswith(beginning.partition("@")[0].rstrip()) for text in texts), name


def test_the_numbers_of_the_need_are_in_it() -> None:
    text = snippet(SectionNeed(30_720, 8, 245_760, "h2d", "pinned"), Method("section", TIME), "cuda")
    assert "cudaMemcpy2DAsync(device, 8, host, 245760, 8, 30720, cudaMemcpyHostToDevice, stream);" in text
    assert "cudaMemcpyDeviceToHost" not in text


def test_words_of_kernels_divide_what_they_move() -> None:
    assert "uint4" in snippet(PiecesNeed(8, 4096), Method("kernel", TIME), "cuda")
    assert "unsigned short" in snippet(PiecesNeed(8, 4098), Method("kernel", TIME), "cuda")
    assert "uint2" in snippet(SectionNeed(8, 16, 24), Method("kernel", TIME), "cuda")


def test_a_library_without_such_calls_says_so_and_who_has_them() -> None:
    with pytest.raises(UsageError, match="torch has no calls for batch; with snippets for it: cuda, isthmus"):
        snippet(PiecesNeed(8, 4096), Method("batch", TIME), "torch")


def test_an_unknown_language_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no snippets for 'fortran'; there are cuda, torch, cupy, isthmus, opencl"):
        snippet(PiecesNeed(8, 4096), Method("batch", TIME), "fortran")


@pytest.mark.parametrize("language", ["torch", "cupy", "isthmus"])
def test_python_compiles(language: str) -> None:
    for text in with_snippets(language):
        compile(text, language, "exec")


@pytest.mark.parametrize("language", SNIPPET_LANGUAGES)
def test_lines_can_be_read_without_scrolling(language: str) -> None:
    for text in with_snippets(language):
        assert max(map(len, text.splitlines())) <= 120, text


def packages() -> list[Path]:
    """Where wheels of CUDA's compiler and headers may lie."""
    return [Path(sysconfig.get_paths()["purelib"]), *map(Path, filter(None, sys.path))]


def compiled_together(texts: list[str]) -> str:
    """One program of all texts, each in a namespace of its own."""
    includes = {line for text in texts for line in text.splitlines() if line.startswith("#include")}
    bodies = [
        f"namespace n{place} {{\n{re.sub('^#include.*$', '', text, flags=re.MULTILINE)}}}\n"
        for place, text in enumerate(texts)
    ]
    return "\n".join([*sorted(includes), *bodies])


def test_cuda_compiles(tmp_path: Path) -> None:
    nvcc = os.environ.get("ISTHMUS_NVCC") or shutil.which("nvcc")
    nvcc = nvcc or next((str(path) for each in packages() for path in each.glob("nvidia/cu*/bin/nvcc")), None)
    if nvcc is None:
        pytest.skip("no nvcc: on PATH, in ISTHMUS_NVCC, or as nvidia-cuda-nvcc with nvidia-cuda-runtime from PyPI")
    source = tmp_path / "snippets.cu"
    source.write_text(compiled_together(with_snippets("cuda")), "utf-8")
    # Looks at the host's side too, and needs no assembler.
    command = [nvcc, "-std=c++17", "-Werror=all-warnings", "-ptx", "-o", str(tmp_path / "snippets.ptx"), str(source)]
    compiled = ended(*command)
    assert compiled.returncode == 0, compiled.stderr


@pytest.mark.thorough
def test_opencl_compiles(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    headers = [Path("/usr/include"), *(path for each in packages() for path in each.glob("nvidia/cu*/include"))]
    found = next((path for path in headers if (path / "CL" / "cl.h").is_file()), None)
    if compiler is None or found is None:
        pytest.skip("no C compiler, or no CL/cl.h: install opencl-headers")
    for place, text in enumerate(with_snippets("opencl")):
        source = tmp_path / f"snippet{place}.c"
        source.write_text(f"#define CL_TARGET_OPENCL_VERSION 120\n{text}", "utf-8")
        command = [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{found}", str(source)]
        checked = ended(*command)
        assert checked.returncode == 0, f"{text}\n{checked.stderr}"
