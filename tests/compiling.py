"""Compiles the programs that tests run: a file at a time, which ccache keeps for the next run where it is installed."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import pytest


def compiler_words() -> list[str]:
    """The C++ compiler: the one that CXX names, or g++; skips a test where there is none."""
    found = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if not found:
        pytest.skip("needs a C++ compiler: g++, or the one that CXX names")
    return [*filter(None, [shutil.which("ccache")]), *found.split()]


def compile_object(source: Path, flags: Sequence[str] = ()) -> Path:
    """One source, not linked; what does not compile fails the test."""
    return _made(f"{source.stem}.o", [*flags, "-c", str(source)])


def compile_program(name: str, sources: Sequence[Path], flags: Sequence[str] = (), links: Sequence[str] = ()) -> Path:
    """A program, or a library, of these sources; `flags` are for both steps, `links` for the linker."""
    return _made(name, [*flags, *(str(compile_object(source, flags)) for source in sources), *links])


def _made(name: str, words: Sequence[str]) -> Path:
    """What the compiler makes of these words: once, for all processes that run tests beside one another."""
    command = [*compiler_words(), "-std=c++20", *words]
    made = Path(os.environ["BUILT_FOR_TESTS"], sha256("\0".join(command).encode()).hexdigest()[:20], name)
    made.parent.mkdir(parents=True, exist_ok=True)
    with made.with_name(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            done = subprocess.run([*command, "-o", str(made)], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
    return made
