"""Ends a command as the program did that it ran."""

import os
import signal
import sys
from contextlib import suppress

import typer


def end_as(code: int | None) -> None:
    """With its exit code, or by the signal that killed it."""
    if code is not None and code < 0:
        import resource

        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        # The program has left its core; ours would tell nothing.
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
        # Where that signal is blocked, as a shell would say it.
        raise typer.Exit(128 - code)
    raise typer.Exit(code or 0)
