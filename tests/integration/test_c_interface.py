"""The examples in C and C++, built against the installed package by CMake and by make, and run on the host."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import isthmus
from tests.processes import ended

_EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "c"
# An installation without its scripts folder on PATH has the command and build tools beside its interpreter.
_PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])

Run = Callable[..., str]


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A copy of the examples, as a user takes them."""
    try:
        isthmus.get_library_dir()
    except FileNotFoundError as error:
        pytest.skip(str(error))
    return Path(shutil.copytree(_EXAMPLES, tmp_path / "examples"))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a tool, which must be there and succeed, and gives what it printed."""

    def run(*command: str | Path, **environment: str) -> str:
        if shutil.which(command[0], path=_PATH) is None:
            pytest.skip(f"needs {command[0]}")
        done = ended(*command, env={"PATH": _PATH, **environment}, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def check(run: Run, folder: Path, device: str = "host", **environment: str) -> None:
    """Both programs move what they should; what they cannot do, they say."""
    copied = run(folder / "copy", device, **environment).splitlines()
    assert copied[0].startswith("h2d of 67108864 bytes, pageable memory: ")
    assert copied[1].startswith("d2h of 67108864 bytes, pageable memory: ")
    assert copied[-1] == "67108864 bytes came back unchanged"
    assert run(folder / "batch", device, **environment) == "4096 pieces came back unchanged\n"
    for program in ("copy", "batch"):
        done = ended(folder / program, "gpu")
        assert done.returncode == 1
        assert "no device is called 'gpu'" in done.stderr
    done = ended(folder / "batch", "opencl:0")
    assert done.returncode == 1
    assert "no addresses" in done.stderr


def test_cmake_finds_the_package(examples: Path, tmp_path: Path, run: Run) -> None:
    run("make", "--version")
    place = run(sys.executable, "-m", "isthmus", "config", "--cmakedir").strip()
    assert place == isthmus.get_cmake_dir()
    run("cmake", "-S", examples, "-B", tmp_path / "build", "-G", "Unix Makefiles", f"-Disthmus_DIR={place}")
    run("cmake", "--build", tmp_path / "build")
    check(run, tmp_path / "build")


def test_cmake_refuses_another_major_version(examples: Path, tmp_path: Path, run: Run) -> None:
    run("make", "--version")
    lists = examples / "CMakeLists.txt"
    lists.write_text(
        lists.read_text("utf-8").replace("find_package(isthmus 0.1 ", "find_package(isthmus 1.0 "), "utf-8"
    )
    command = ["cmake", "-S", str(examples), "-B", str(tmp_path / "build"), "-G", "Unix Makefiles"]
    if shutil.which("cmake", path=_PATH) is None:
        pytest.skip("needs cmake")
    refused = ended(*command, f"-Disthmus_DIR={isthmus.get_cmake_dir()}", env={"PATH": _PATH})
    assert refused.returncode != 0
    assert f"isthmusConfig.cmake, version: {isthmus.__version__}" in refused.stderr


def test_pkg_config_finds_the_package(examples: Path, run: Run, compiled: Callable[..., Path]) -> None:
    run("pkg-config", "--version")
    run("make", "-C", examples, f"ISTHMUS={sys.executable} -m isthmus")
    check(run, examples)
    check(run, examples, "cuda:0", LD_LIBRARY_PATH=str(compiled("fake_cuda.cpp").parent))


@pytest.mark.parametrize("lib", ["lib", "lib64"])
def test_the_package_may_be_moved(examples: Path, tmp_path: Path, run: Run, lib: str) -> None:
    """All that finds it says where it is from its own place, as it must in a wheel."""
    moved = tmp_path / "elsewhere" / "isthmus"
    library = Path(isthmus.get_library_dir())
    shutil.copytree(library, moved / lib)
    shutil.copytree(isthmus.get_include(), moved / "include")
    flags = run("pkg-config", "--cflags", "--libs", "isthmus", PKG_CONFIG_PATH=str(moved / lib / "pkgconfig")).split()
    named = {Path(word.removeprefix("-I").removeprefix("-L").removeprefix("-Wl,-rpath,")) for word in flags[:-1]}
    assert {path.resolve() for path in named} == {moved / lib, moved / "include"}
    for path in moved.rglob("*"):
        if path.is_file() and path.suffix in {".cmake", ".pc"}:
            assert str(library.parent) not in path.read_text("utf-8")
    run("cc", "-std=c99", examples / "copy.c", "-o", tmp_path / "copy", *flags)
    assert "unchanged" in run(tmp_path / "copy", "host")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("lib", "linked"),
    [("lib", ""), ("lib64", ""), ("lib/x86_64-linux-gnu", ""), ("lib", "folder"), ("lib64", "file"), ("lib", "prefix")],
)
def test_cmake_finds_what_was_moved(examples: Path, tmp_path: Path, run: Run, lib: str, linked: str) -> None:
    """In a path with a space, under another name, and through symbolic links to it."""
    run("make", "--version")
    prefix = tmp_path / "a place" / "moved"
    shutil.copytree(isthmus.get_library_dir(), prefix / lib)
    shutil.copytree(isthmus.get_include(), prefix / "include")
    place = prefix / lib / "cmake" / "isthmus"
    other = tmp_path / "linked"
    if linked == "folder":
        other.symlink_to(place, target_is_directory=True)
        place = other
    elif linked == "file":
        other.mkdir()
        for path in place.iterdir():
            (other / path.name).symlink_to(path)
        place = other
    elif linked == "prefix":
        other.symlink_to(prefix, target_is_directory=True)
        place = other / lib / "cmake" / "isthmus"
    run("cmake", "-S", examples, "-B", tmp_path / "build", "-G", "Unix Makefiles", f"-Disthmus_DIR={place}")
    run("cmake", "--build", tmp_path / "build")
    check(run, tmp_path / "build")
    linked_to = run("ldd", tmp_path / "build" / "copy")
    assert str(tmp_path) in next(line for line in linked_to.splitlines() if "libisthmus" in line)


@pytest.mark.parametrize("lost", ["include", "lib"])
def test_cmake_says_what_was_left_behind(examples: Path, tmp_path: Path, lost: str) -> None:
    if shutil.which("cmake", path=_PATH) is None:
        pytest.skip("needs cmake")
    prefix = tmp_path / "moved"
    shutil.copytree(isthmus.get_library_dir(), prefix / "lib")
    shutil.copytree(isthmus.get_include(), prefix / "include")
    for path in (prefix / lost).glob("*isthmus*"):
        path.unlink()
    command = ["cmake", "-S", str(examples), "-B", f"{tmp_path}/build", f"-Disthmus_DIR={prefix}/lib/cmake/isthmus"]
    done = ended(*command, env={"PATH": _PATH})
    assert done.returncode != 0
    assert "move or copy" in done.stderr


def test_the_command_says_where_everything_is(run: Run) -> None:
    printed = run(sys.executable, "-m", "isthmus", "config").splitlines()
    assert printed == [
        f"include: {isthmus.get_include()}",
        f"lib: {isthmus.get_library_dir()}",
        f"cmakedir: {isthmus.get_cmake_dir()}",
        f"pkgconfigdir: {isthmus.get_pkgconfig_dir()}",
    ]
    assert run(sys.executable, "-m", "isthmus", "config", "--include") == isthmus.get_include() + "\n"
    headers = {path.name for path in Path(isthmus.get_include()).iterdir()}
    assert headers == {"isthmus.h", "isthmus_memory_resource.hpp"}
