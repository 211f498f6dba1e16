"""Starts Python so that it never runs what lies in the current folder: the only place that names the interpreter."""

import os
import sys
from multiprocessing import get_context
from multiprocessing.context import BaseContext

# Python 3.10 cannot be told to leave the current folder out, so it takes that out before anything is imported.
_BY_HAND = (
    "import sys; del sys.path[0]; import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)
_SAFE_PATH = "PYTHONSAFEPATH"


def python_command(module: str, *words: str) -> list[str]:
    """The command that runs a module with these words, as ``python -m`` does, isolated from the current folder."""
    if sys.version_info >= (3, 11):
        return [sys.executable, "-P", "-m", module, *words]
    return [sys.executable, "-c", _BY_HAND, module, *words]


def python_environment() -> dict[str, str]:
    """This process's environment, by which Pythons that a child starts are isolated, too (from 3.11 on)."""
    return {**os.environ, _SAFE_PATH: "1"}


def worker_context() -> BaseContext:
    """How pools start their processes: anew and isolated, and as a fork where Python 3.10 cannot isolate them."""
    if sys.version_info < (3, 11):
        return get_context("fork")
    os.environ[_SAFE_PATH] = "1"
    return get_context("spawn")
