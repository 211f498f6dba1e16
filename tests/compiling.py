"""Compiles the programs that tests run: a file at a time, which ccache keeps for the next run where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest


def compiler_words() -> list[str]:
    """The C++ compiler: the one that CXX names, or g++; skips a test where there is none."""
    found = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
    if not found:
        pytest.skip("needs a C++ compiler: g++, or the one that CXX names")
    return [*filter(None, [shutil.which("ccache")]), *found.split()]


def compile_object(source: Path, out: Path, flags: Sequence[str] = ()) -> Path:
    """One source, not linked; what does not compile fails the test."""
    _run([*compiler_words(), "-std=c++20", *flags, "-c", str(source), "-o", str(out)])
    return out


def compile_program(out: Path, sources: Sequence[Path], flags: Sequence[str] = (), links: Sequence[str] = ()) -> Path:
    """A program of these sources; `flags` are for both steps, `links` for the linker."""
    objects = [compile_object(source, out.parent / f"{at}.o", flags) for at, source in enumerate(sources)]
    _run([*compiler_words(), *flags, *map(str, objects), "-o", str(out), *links])
    return out


def _run(words: Sequence[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
