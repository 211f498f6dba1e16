"""Files are opened by `isthmus.files` alone, and by the few doors beside it that say why they are others."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.layout.every import every
from tests.layout.test_arrows import MODULES, PACKAGE, name_of

# What opens a file, as a function or a method of anything; `gzip.compress` packs bytes and opens nothing.
FUNCTIONS = {"open", "FileIO", "GzipFile", "NamedTemporaryFile", "TemporaryFile", "mkstemp"}
CALLS = {"gzip.decompress", "sqlite3.connect", "shutil.copy"}
PATHS = {"read_text", "read_bytes"}
METHODS = {
    *FUNCTIONS,
    *PATHS,
    "write_text",
    "write_bytes",
    "touch",
    "fromfile",
    "tofile",
    "memmap",
    "copyfile",
    "copy2",
}
DOORS = {
    "files.py": "the two doors",
    "trace/json_text.py": "streamed in bounded memory",
    "trace/isthmus/blocks.py": "streamed in bounded memory, also while a program still writes",
    "trace/nsys/tables.py": "SQLite, read only",
    "machine/kernel_files.py": "files of the kernel, which say no size",
    "experiment/openacc/build.py": "libraries are copied into an empty folder, beside what a compiler writes there",
    "commands/main.py": "/dev/null for streams that are closed",
    "torch/file_reading.py": "/dev/null in place of a file that is read no further",
    "messages.py": "/dev/null for a reader that has left",
}


def openings(path: Path) -> Iterator[str]:
    """The calls in a module that open a file, as they are written."""
    tree = ast.parse(path.read_text("utf-8"))
    # Data of the package is found by importlib.resources, whose objects have the names of methods that paths have.
    packaged = any(isinstance(node, ast.ImportFrom) and node.module == "importlib.resources" for node in ast.walk(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if ast.unparse(node.func) in CALLS:
            yield ast.unparse(node)
        match node.func:
            case ast.Name(name) if name in FUNCTIONS:
                yield ast.unparse(node)
            case ast.Attribute(attr=name) if name in METHODS - (PATHS if packaged else set()):
                yield ast.unparse(node)


@every(MODULES, name_of)
def test_files_are_opened_by_the_doors_alone(path: Path) -> None:
    if path.relative_to(PACKAGE).as_posix() not in DOORS and "snippets" not in path.parts:
        assert list(openings(path)) == [], "read with isthmus.files.read_bounded, write with isthmus.files.write_whole"


@pytest.mark.parametrize("door", DOORS)
def test_a_door_is_one(door: str) -> None:
    assert list(openings(PACKAGE / door)), "opens nothing any more: take it off the list"


@pytest.mark.parametrize(
    "code",
    [
        "open('x')",
        "Path('x').open('wb')",
        "p.read_text()",
        "os.open(p, 0)",
        "gzip.open(p)",
        "gzip.decompress(d)",
        "io.FileIO(p)",
    ],
)
def test_a_door_would_be_noticed(tmp_path: Path, code: str) -> None:
    path = tmp_path / "module.py"
    path.write_text(code)
    assert list(openings(path)) == [code]
    path.write_text("from importlib.resources import files\nfiles('x').read_bytes()\ngzip.compress(b'')\nreopen()")
    assert list(openings(path)) == []
