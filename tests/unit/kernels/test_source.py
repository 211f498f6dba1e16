"""The device code as OpenCL C, as ordinary C++ on the host, and as the text that is embedded in the core."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.processes import ended

CLANG = os.environ.get("CLANG", "clang-15")
HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def kernels(repository: Path) -> Path:
    return repository / "native" / "kernels"


def embed(kernels: Path, out: Path, ptx: Path, *sources: Path) -> subprocess.CompletedProcess[str]:
    if shutil.which("cmake") is None:
        pytest.skip("needs cmake")
    arguments = [f"-DOUT={out}", f"-DPTX={ptx}", "-DSOURCES=" + ";".join(map(str, sources))]
    command = ["cmake", *arguments, "-P", str(kernels / "embed.cmake")]
    return ended(*command)


@pytest.mark.thorough
def test_every_size_and_alignment_agrees_with_the_host(repository: Path, run_cpp: Callable[..., str]) -> None:
    # The sanitizer refuses an access that is not aligned to its size, which this CPU would forgive and a GPU would not.
    flags = ("-O1", "-g", "-fno-strict-aliasing", "-fsanitize=undefined", "-fno-sanitize-recover=all")
    printed = run_cpp(HERE / "kernels_on_host.cpp", repository / "native" / "base" / "pattern.cpp", flags=flags)
    assert printed.splitlines()[-1] == "all agree"


def test_opencl_source_is_valid_opencl_c_1_2(kernels: Path) -> None:
    if shutil.which(CLANG) is None:
        pytest.skip(f"needs {CLANG}; the variable CLANG can name another")
    source = "".join(
        (kernels / name).read_text("utf-8") for name in ("opencl_preamble.h", "kernels.cl", "doubles.cl", "rows.cl")
    )
    command = [CLANG, "-x", "cl", "-cl-std=CL1.2", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-"]
    result = ended(*command, stdin=source)
    assert result.returncode == 0, result.stderr


def test_embedded_texts_are_the_files(kernels: Path, tmp_path: Path, run_cpp: Callable[..., str]) -> None:
    embedded, printer = tmp_path / "embedded.cpp", tmp_path / "print.cpp"
    ptx = kernels / "kernels.ptx"
    sources = [kernels / name for name in ("opencl_preamble.h", "kernels.cl", "doubles.cl", "rows.cl")]
    result = embed(kernels, embedded, ptx, *sources)
    assert result.returncode == 0, result.stderr
    printer.write_text(
        "#include <cstdio>\n"
        '#include "kernels/kernels.hpp"\n'
        'int main() { std::printf("%s\\f%s", isthmus::kernels_ptx, isthmus::kernels_opencl); }\n'
    )
    embedded_ptx, embedded_opencl = run_cpp(printer, embedded).split("\f")
    assert embedded_ptx == ptx.read_text("utf-8")
    marked = "".join(f'#line 1 "{source.name}"\n{source.read_text("utf-8")}' for source in sources)
    assert embedded_opencl == marked


def test_text_that_no_literal_can_hold_is_refused(kernels: Path, tmp_path: Path) -> None:
    source = tmp_path / "odd.cl"
    source.write_text('a )isthmus" b')
    result = embed(kernels, tmp_path / "embedded.cpp", kernels / "kernels.ptx", source)
    assert result.returncode != 0
    assert "odd.cl cannot be a raw string literal" in " ".join(result.stderr.split())
    assert not (tmp_path / "embedded.cpp").exists()
