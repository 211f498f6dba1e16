"""Starts Python so that it never runs what is in the current folder: the only place that names the interpreter."""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

# Python 3.10 has no option to leave the current folder out, so it takes that out before anything is imported.
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


@contextmanager
def worker_pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that are started anew and isolated, or forked where Python 3.10 cannot isolate them.

    They read that from this process's environment, which is as it was when the pool has ended.
    """
    if sys.version_info < (3, 11):
        with ProcessPoolExecutor(processes, mp_context=get_context("fork")) as pool:
            yield pool
        return
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            yield pool
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before
