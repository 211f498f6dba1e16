"""How far a measurement has come, on a terminal."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, Task
    from rich.text import Text

    from isthmus.experiment.engine.progress import Moment

# What is read in less is not worth a line.
READING_SHOWN_SECONDS = 2.0


class ProgressBar:
    """What is measured, at which rate now, and the time left, on stderr; nothing where stderr is no terminal.

    ``batching 3/14 · 41.0 GB/s · 2:10 left``
    """

    def __init__(self) -> None:
        from rich.progress import BarColumn, ProgressColumn, TextColumn

        class Left(ProgressColumn):
            """Counts down between two updates, too."""

            def render(self, task: "Task") -> "Text":
                from rich.text import Text

                return Text(_left(task.fields["ends_at"] - time.monotonic()) if task.fields["ends_at"] else "")

        self._progress = _on_terminal(BarColumn(bar_width=20), TextColumn("{task.description}"), Left())
        self._task = self._progress.add_task("", ends_at=0.0)
        self._started = time.monotonic()

    def __enter__(self) -> "ProgressBar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def update(self, ended: int, total: int) -> None:
        """Show `ended` of `total` steps."""
        self._progress.update(self._task, completed=ended, total=total, description=f"{ended} of {total} steps")

    def show(self, moment: "Moment") -> None:
        """Show where a run is, and how much of its time has passed."""
        from isthmus.record import format_rate

        now = time.monotonic()
        rate = format_rate(moment.rate) if moment.rate else ""
        self._progress.update(
            self._task,
            completed=now - self._started,
            total=moment.ends_at - self._started,
            description=" · ".join(filter(None, (f"{moment.experiment} {moment.number}/{moment.experiments}", rate))),
            ends_at=moment.ends_at,
        )


@contextmanager
def working_on(what: str, *, after: float = 0.0) -> Iterator[None]:
    """Show what takes seconds and has no steps, and for how long it has gone on, on stderr if that is a terminal.

    ``writing the page run.html 0:00:02``; nothing where it is done `after` so many seconds.
    """
    if not sys.stderr.isatty():
        # Importing what draws it takes as long as a tenth of a page.
        yield
        return
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    text = TextColumn("{task.description}", markup=False)
    progress = _on_terminal(SpinnerColumn(), text, TimeElapsedColumn())
    progress.add_task(what, total=None)
    if not after:
        with progress:
            yield
        return
    begin = Timer(after, progress.start)
    begin.daemon = True
    begin.start()
    try:
        yield
    finally:
        begin.cancel()
        # It may be starting just now.
        begin.join()
        progress.stop()


def _on_terminal(*columns: "ProgressColumn") -> "Progress":
    """A line of these columns on stderr, gone in the end; nothing where stderr is no terminal."""
    from rich.console import Console
    from rich.progress import Progress

    return Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())


def _left(seconds: float) -> str:
    """``· 2:10 left``; nothing where it should have ended."""
    whole = round(seconds)
    return f"· {whole // 60}:{whole % 60:02} left" if whole > 0 else ""
