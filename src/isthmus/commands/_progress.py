"""How far a measurement has come, on a terminal."""

import sys


class ProgressBar:
    """How many cases have ended, on stderr; nothing where stderr is no terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        columns = (TextColumn("cases"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self.began = False
        self._progress = Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty())
        self._task = self._progress.add_task("cases")

    def __enter__(self) -> "ProgressBar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def update(self, ended: int, total: int) -> None:
        """Show `ended` of `total`."""
        self.began = True
        self._progress.update(self._task, completed=ended, total=total)
