"""What the C interface promises: a header for any compiler, structures that stay, its functions and nothing else."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from isthmus.c_interface import get_library_dir
from tests.processes import ended

_HERE = Path(__file__).parent
_WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


def _compile(compiler: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    found = shutil.which(compiler)
    if found is None:
        pytest.skip(f"needs {compiler}")
    return ended(found, *arguments)


@pytest.mark.parametrize(
    ("compiler", "language"),
    [("gcc", ("c", "c99")), ("gcc", ("c", "c17")), ("g++", ("c++", "c++20")), ("clang-15", ("c", "c99"))],
    ids=lambda value: value if isinstance(value, str) else value[1],
)
def test_structures_are_as_programs_were_built_with_them(
    compiler: str, language: tuple[str, str], repository: Path
) -> None:
    flags = ("-x", language[0], f"-std={language[1]}", *_WARNINGS, "-fsyntax-only", f"-I{repository / 'include'}")
    compiled = _compile(compiler, *flags, _HERE / "frozen.c")
    assert compiled.returncode == 0, compiled.stderr


def test_a_structure_that_changed_would_be_noticed(repository: Path, tmp_path: Path) -> None:
    header = (repository / "include" / "isthmus.h").read_text("utf-8")
    (tmp_path / "isthmus.h").write_text(header.replace("char operation[64];", "char operation[72];"), "utf-8")
    compiled = _compile("gcc", "-std=c99", "-fsyntax-only", f"-I{tmp_path}", _HERE / "frozen.c")
    assert compiled.returncode != 0
    assert "frozen_isthmus_status_message" in compiled.stderr


def test_the_library_exports_what_the_header_declares_and_nothing_else(repository: Path) -> None:
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("needs nm, of binutils")
    header = re.sub(r"/\*.*?\*/", "", (repository / "include" / "isthmus.h").read_text("utf-8"), flags=re.DOTALL)
    declared = set(re.findall(r"^ISTHMUS_API [^(]*?(\w+)\(", header, re.MULTILINE))
    library = Path(get_library_dir()) / "libisthmus.so.0"
    listed = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    # The name of the ABI itself is listed as an absolute symbol.
    exported = {line.split()[-1].partition("@")[0] for line in listed.splitlines() if " A " not in line}
    assert "isthmus_copy" in declared
    assert exported == declared


def test_linkers_and_loaders_find_the_library_by_the_name_of_its_abi() -> None:
    readelf = shutil.which("readelf")
    if readelf is None:
        pytest.skip("needs readelf, of binutils")
    folder = Path(get_library_dir())
    dynamic = subprocess.run(
        [readelf, "--dynamic", "--wide", folder / "libisthmus.so.0"], capture_output=True, text=True, check=True
    ).stdout
    assert "soname: [libisthmus.so.0]" in dynamic
    assert "INPUT(libisthmus.so.0)" in (folder / "libisthmus.so").read_text("ascii")
