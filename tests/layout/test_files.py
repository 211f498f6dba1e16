"""Every file opens with its purpose, is short enough to read, is built, and has its tests where they are looked for."""

import ast
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from isthmus import _native
from tests.layout.every import every

REPOSITORY = Path(__file__).resolve().parents[2]
MOST_LINES = 500
# Describes one extension module, which type checkers look for in one file.
LONGER = {"src/isthmus/_native.pyi": 1000}

COMMENTS = {
    **dict.fromkeys((".c", ".cpp", ".hpp", ".h", ".cu", ".cl"), "// "),
    **dict.fromkeys((".cmake", ".sh"), "# "),
}
FOLDERS = ("benchmarks", "examples", "native", "scripts", "src", "tests")
PYTHON = sorted(
    path for folder in FOLDERS for path in (REPOSITORY / folder).rglob("*.py*") if path.suffix in {".py", ".pyi"}
)
OTHERS = sorted(path for folder in FOLDERS for path in (REPOSITORY / folder).rglob("*") if path.suffix in COMMENTS)
# Without a suffix that tells what they are written in.
SCRIPTS = [
    *(REPOSITORY / name for name in ("CMakeLists.txt", "Makefile", ".ci/run", ".clang-format", ".clang-tidy")),
    *(REPOSITORY / name for name in ("native/capi/CMakeLists.txt", "native/capi/isthmus.map")),
    *(REPOSITORY / "examples" / "c" / name for name in ("CMakeLists.txt", "Makefile")),
    REPOSITORY / "examples" / "transfers" / "Makefile",
]


def name_of(path: Path) -> str:
    return str(path.relative_to(REPOSITORY))


def test_the_files_are_found() -> None:
    assert REPOSITORY / "src" / "isthmus" / "_native.pyi" in PYTHON
    assert REPOSITORY / "native" / "kernels" / "kernels.cl" in OTHERS


@every(PYTHON, name_of)
def test_a_python_file_opens_with_its_purpose(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8")))
    assert docstring
    # One sentence that says it; more may follow after an empty line.
    assert re.search(r"[.?:]$", docstring.partition("\n\n")[0])


@every([*OTHERS, *SCRIPTS], name_of)
def test_any_other_file_opens_with_its_purpose(path: Path) -> None:
    first, second = [*path.read_text("utf-8").splitlines(), "", ""][:2]
    line = second if first.startswith("#!") else first
    comment = COMMENTS.get(path.suffix, "# ")
    assert line.startswith(comment)
    assert len(line.removeprefix(comment).split()) >= 3, "a purpose is more than a word"


@every([*PYTHON, *OTHERS, *SCRIPTS], name_of)
def test_a_file_can_be_read_in_one_sitting(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= LONGER.get(name_of(path), MOST_LINES)


def test_the_build_takes_every_native_source() -> None:
    """What CMakeLists.txt finds by pattern, found by the same patterns here."""
    text = (REPOSITORY / "CMakeLists.txt").read_text("utf-8")
    guests = ("accelerator", "bindings", "capi", "check", "interpose/hooks", "races", "tracer")
    built: list[Path] = []
    for recurse, pattern in re.findall(
        r"^file\(GLOB(_RECURSE)? \w+.* CONFIGURE_DEPENDS (\S+\.cpp)\)$", text, re.MULTILINE
    ):
        folder = REPOSITORY / Path(pattern).parent
        found = folder.rglob(Path(pattern).name) if recurse else folder.glob(Path(pattern).name)
        # The pattern of the whole core leaves bindings, C interface, check and the guests of programs to their own.
        core = pattern == "native/*.cpp"
        built += [
            path
            for path in found
            if not core or not name_of(path).startswith(tuple(f"native/{guest}/" for guest in guests))
        ]
    assert f'list(FILTER core_sources EXCLUDE REGEX "^native/({"|".join(guests)})/")' in text
    assert sorted(built) == sorted((REPOSITORY / "native").rglob("*.cpp"))


@pytest.mark.thorough
def test_the_layout_is_as_well_in_folders_with_our_own_names(tmp_path: Path) -> None:
    """A checkout under /check once left every file of the core out of a list."""
    ours = {path.name for root in ("native", "src/isthmus") for path in (REPOSITORY / root).iterdir() if path.is_dir()}
    copy = tmp_path.joinpath("native", *sorted(ours - {"__pycache__"}), "tests", "src")
    ignored = shutil.ignore_patterns(".git", ".venv", "build", "dist", "__pycache__", ".*_cache")
    shutil.copytree(REPOSITORY, copy, ignore=ignored)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not thorough", "tests/layout"],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-4000:]


def test_unit_tests_mirror_the_folders() -> None:
    folders = {
        path.name for root in ("native", "src/isthmus") for path in (REPOSITORY / root).iterdir() if path.is_dir()
    }
    tests = REPOSITORY / "tests" / "unit"
    for path in tests.glob("*/**/test_*.py"):
        assert path.relative_to(tests).parts[0] in folders, (
            f"{name_of(path)} tests no folder of native/ or src/isthmus/"
        )


def test_the_description_of_the_native_module_has_its_names_and_no_other() -> None:
    """Types that exist for the type checker alone, the TypedDicts, are no part of the module."""
    described: dict[str, set[str]] = {}
    for node in ast.parse((REPOSITORY / "src" / "isthmus" / "_native.pyi").read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            described[node.name] = set()
        elif isinstance(node, ast.ClassDef) and "TypedDict" not in map(ast.unparse, node.bases):
            members = [item.name for item in node.body if isinstance(item, ast.FunctionDef)]
            described[node.name] = {name for name in members if not name.startswith("_")}
    found = {
        name: {member for member in vars(value) if not member.startswith("_")} if isinstance(value, type) else set()
        for name, value in vars(_native).items()
        if not name.startswith("_")
    }
    assert described == found


@pytest.mark.parametrize(
    "name",
    [
        "Session",
        "Future",
        "DeviceArray",
        *(f"{a}{b}" for a in ("copy", "copy_batch", "copy_rows", "copy_addresses") for b in ("", "_async")),
    ],
)
def test_what_callers_use_says_what_its_description_says(name: str) -> None:
    """So help() does; the build takes it from there."""
    body = ast.parse((REPOSITORY / "src" / "isthmus" / "_native.pyi").read_text("utf-8")).body
    found = next(node for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name)
    native = getattr(_native, name)
    described: dict[tuple[str, ...], ast.ClassDef | ast.FunctionDef] = {(): found}
    for node in found.body if isinstance(found, ast.ClassDef) else []:
        if isinstance(node, ast.FunctionDef) and node.name not in {"__init__", "__dlpack_device__"}:
            described[node.name,] = node
    for path, node in described.items():
        text = ast.get_docstring(node)
        said = inspect.getdoc(getattr(native, *path) if path else native) or ""
        assert text, path
        assert said.endswith(text), path
        assert "object | None" not in said


@pytest.mark.parametrize("path", sorted((REPOSITORY / "native").rglob("*.?pp")), ids=name_of)
def test_only_one_place_starts_threads(path: Path) -> None:
    name = name_of(path)
    # The second hooks what programs start theirs by.
    if name in ("native/base/threads.hpp", "native/races/signals.cpp"):
        return
    # `std::thread::id` and handles of threads that were started there are other things.
    starts = re.findall(r"std::thread\b(?!::)|std::async\b|\bpthread_create\b|std::jthread\s*[({]", path.read_text())
    assert not starts, (
        f"{name} starts a thread by itself; start_thread() of base/threads.hpp blocks the program's signals"
    )


# Hypothesis and typing keep what is annotated with types of the core for good: the address sanitizer calls them leaks.
SANITIZED = sorted(
    path for folder in ("contract", "unit/backend") for path in (REPOSITORY / "tests" / folder).rglob("*.py")
)


@every([path for path in SANITIZED if "isthmus" in path.read_text("utf-8")], name_of)
def test_annotations_of_tests_under_sanitizers_stay_text(path: Path) -> None:
    assert "from __future__ import annotations\n" in path.read_text("utf-8")
