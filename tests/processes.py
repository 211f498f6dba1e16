"""Runs the programs that tests watch: to their end, within a limit, with what they wrote as text."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

Done = subprocess.CompletedProcess[str]
Words = str | Path
# Far longer than any of them takes.
HANGS_SECONDS = 120


def ended(
    *words: Words,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = HANGS_SECONDS,
    stdin: str = "",
    preexec_fn: Callable[[], object] | None = None,
) -> Done:
    """How a program ended, whatever its exit code; `env` adds to the variables of this process.

    Interpreters find the packages that this one has, wherever they are started.
    """
    return subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | dict(env or {}),
        timeout=timeout,
        input=stdin,
        preexec_fn=preexec_fn,
    )


def python(
    program: str,
    *arguments: Words,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = HANGS_SECONDS,
) -> Done:
    """A program of Python, given as its text."""
    return ended(sys.executable, "-c", program, *arguments, env=env, cwd=cwd, timeout=timeout)


def isthmus(*words: Words, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Done:
    """The command line."""
    return ended(sys.executable, "-m", "isthmus", *words, env=env, cwd=cwd)
