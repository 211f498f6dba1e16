"""The resource for CCCL and RMM, with each of their releases that is installed or unpacked in HOSTS."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from isthmus.c_interface import get_library_dir
from tests.processes import ended

_PROGRAM = Path(__file__).with_name("memory_resource.cpp")
_OLD = "-DLIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE"  # before CCCL 3.2


def _places() -> Iterator[Path]:
    """Folders with what wheels hold: this Python's own, and those unpacked in HOSTS."""
    yield from (Path(path) for path in sys.path if path.endswith("site-packages"))
    if hosts := os.environ.get("HOSTS"):
        yield from sorted(Path(hosts).iterdir())


def _runtimes() -> dict[str, list[Path]]:
    """The folders of the CUDA runtime's headers, by the major version."""
    runtimes: dict[str, list[Path]] = {"12": [], "13": []}
    for place in _places():
        runtimes["13"] += [folder for folder in [place / "nvidia/cu13/include"] if any(folder.glob("c*"))]
        runtimes["12"] += [
            folder / "include" for folder in place.glob("nvidia/cuda_*") if folder.name[5:] in {"runtime", "nvcc"}
        ]
    return runtimes


def _releases() -> Iterator[tuple[str, str, list[Path], bool]]:
    """Name, CUDA's major version, folders of headers, and whether RMM is there."""
    for place in _places():
        for cuda, folder in (("13", "nvidia/cu13/include/cccl"), ("12", "nvidia/cuda_cccl/include")):
            if (place / folder / "cuda").is_dir():
                yield f"{place.name}-cccl", cuda, [place / folder], False
        if (rmm := place / "librmm" / "include").is_dir():
            cuda = next(place.glob("librmm_cu*.dist-info")).name[9:11]
            yield place.name, cuda, [rmm, rmm / "rapids"], True


_RELEASES = list(_releases())


@pytest.mark.parametrize("compiler", ["g++", "clang++-15"])
@pytest.mark.parametrize("standard", ["c++17", "c++20"])
@pytest.mark.parametrize("release", [pytest.param(each, id=each[0]) for each in _RELEASES] or [None])
def test_it_is_a_resource_of_each_release(
    release: tuple[str, str, list[Path], bool] | None, standard: str, compiler: str, repository: Path, tmp_path: Path
) -> None:
    if release is None:
        pytest.skip("needs headers: wheels of RMM or CCCL, and of the CUDA runtime, installed or unpacked in HOSTS")
    if shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    _, cuda, headers, with_rmm = release
    folders = [*headers, *_runtimes()[cuda]]
    if not any((folder / "cuda_runtime_api.h").is_file() for folder in folders):
        pytest.skip(f"needs the headers of the CUDA runtime {cuda}")
    version = next(path for path in headers if (path / "cuda" / "version").exists())
    text = (version / "cuda" / "std" / "__cccl" / "version.h").read_text("utf-8")
    old = int(text.split("#define CCCL_VERSION ")[1].split()[0]) < 3002000
    program, library = tmp_path / "program", get_library_dir()
    links = ["-o", str(program), f"-L{library}", f"-Wl,-rpath,{library}", "-listhmus"]
    if old and with_rmm:  # whose headers call its library
        links = ["-fsyntax-only"]
    compiled = ended(
        *(compiler, f"-std={standard}", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"),
        *(f"-I{repository / 'include'}", *(word for folder in folders for word in ("-isystem", str(folder)))),
        *([_OLD] if old else []),
        *(["-DWITH_RMM"] if with_rmm else []),
        *(str(_PROGRAM), *links),
    )
    assert compiled.returncode == 0, compiled.stderr[:3000]
    if links == ["-fsyntax-only"]:
        return
    ran = ended(program)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr
