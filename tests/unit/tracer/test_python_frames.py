"""The lines of Python that a thread is in are found from C without the interpreter's lock, in every known version."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parents[2] / "native" / "tracer"

# ctypes gives the lock away during the call, as programs that copy do.
_PROGRAM = """\
import ctypes, sys, threading

library = ctypes.CDLL(sys.argv[1])


def shown():
    text = ctypes.create_string_buffer(8192)
    library.show_frames(
        text,
        8192,
    )
    return text.value.decode()


class Thing:
    def größe(self):
        return shown()


def made():
    yield Thing().größe()


print(next(made()))
(thread := threading.Thread(target=lambda: print(shown()))).start()
thread.join()
sorted([1], key=lambda _: print(shown()))
"""
_CALL = "program.py:8 shown"


def interpreters() -> list[str]:
    """This one, and those beside it: where several are installed, all of them are looked at."""
    found = [sys.executable]
    roots = [Path(sys.base_prefix).parent, Path.home() / ".pyenv" / "versions"]
    for root in roots:
        found += [str(path) for minor in range(9, 15) for path in sorted(root.glob(f"3.{minor}.*/bin/python3.{minor}"))]
    return list(dict.fromkeys(found))


@pytest.fixture(scope="module")
def library(build_cpp: Callable[..., Path]) -> Path:
    return build_cpp(HERE / "frames.cpp", NATIVE / "python_frames.cpp", flags=("-shared", "-fPIC"))


@pytest.mark.skipif("-fsanitize" in os.environ.get("CXX", ""), reason="a plain interpreter loads no sanitized library")
@pytest.mark.parametrize("interpreter", interpreters(), ids=lambda path: Path(path).parent.parent.name)
def test_frames_are_those_of_the_program(library: Path, tmp_path: Path, interpreter: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM, "utf-8")
    done = subprocess.run([interpreter, program, library], capture_output=True, text=True, encoding="utf-8", check=True)
    called, thread, key = done.stdout.split("\n\n")[:3]
    if called.startswith("("):
        pytest.skip(f"frames of Python {called} are not known to the tracer")
    assert [line.rpartition("/")[2] for line in called.split("\n")] == [
        _CALL,
        "program.py:17 größe",
        "program.py:21 made",
        "program.py:24 <module>",
    ]
    frames = [line.rpartition("/")[2] for line in thread.split("\n")]
    assert frames[:2] == [_CALL, "program.py:25 <lambda>"]
    assert frames[2].endswith(" run")
    assert [line.rpartition("/")[2] for line in key.split("\n")] == [
        _CALL,
        "program.py:27 <lambda>",
        "program.py:27 <module>",
    ]


def test_a_process_without_python_has_no_lines(run_cpp: Callable[..., str], tmp_path: Path) -> None:
    source = tmp_path / "main.cpp"
    source.write_text(
        'extern "C" int show_frames(char*, int);\n#include <cstdio>\n'
        "int main() { char text[100]; show_frames(text, 100); std::puts(text); }\n"
    )
    assert run_cpp(source, HERE / "frames.cpp", NATIVE / "python_frames.cpp") == "()\n"
