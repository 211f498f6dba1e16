"""One device measured in a process of its own, started by a rank: what kills it or hangs in it does not end the rank.

It reads its task from standard input, as a line of JSON; a second line lets it begin where it has to wait. Where
standard input ends, the rank is gone and this process ends too. What it has to say goes to standard output, as lines.
"""

import os
import signal
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import IO, Literal

import msgspec

from isthmus.errors import IsthmusError, exit_code
from isthmus.experiment.engine.in_step import ALONE, join
from isthmus.experiment.engine.options import Options
from isthmus.experiment.measure import choose_experiments, measure
from isthmus.machine.devices import name_in_turn, open_device
from isthmus.record import Launch


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What to measure; `spec` is None, or a backend alone, where the local rank picks the device."""

    spec: str | None
    experiments: list[str]
    options: Options
    # As the system has it, which need not be text.
    path: bytes
    command: list[str]
    launch: Launch
    waits: bool
    has_neighbours: bool


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the measuring process: that it is ready, or why it fails."""

    kind: Literal["ready", "failed"]
    why: str = ""


def main() -> int:
    """Measure as the task says."""
    output = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # What libraries print must not come between.
    go = threading.Event()
    try:
        orders = os.fdopen(os.dup(0), "rb", buffering=0)  # A buffer's lock would be missed when Python ends.
        task = msgspec.json.decode(orders.readline(), type=Task)
        threading.Thread(target=_listen, args=(orders, go), daemon=True).start()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        experiments = choose_experiments(task.experiments, task.options)
        device = open_device(name_in_turn(task.spec, task.launch.local_rank), bind=True)
        pace = ALONE
        if task.waits:
            # Before the word that lets all begin, so that the first finds all others here.
            pace = join(f"{task.launch.fleet}-{task.launch.node}", task.has_neighbours)
            output.write(msgspec.json.encode(Said(kind="ready")) + b"\n")
            go.wait()
        with closing(pace):
            measure(
                device,
                task.options,
                experiments,
                Path(os.fsdecode(task.path)),
                task.command,
                lambda _moment: None,
                launch=task.launch,
                pace=pace,
            )
    except KeyboardInterrupt as interrupt:
        return exit_code(interrupt)
    except IsthmusError as error:
        output.write(msgspec.json.encode(Said(kind="failed", why=str(error))) + b"\n")
        return exit_code(error)
    return 0


def _listen(orders: IO[bytes], go: threading.Event) -> None:
    """Wait for the word to begin, then for the end of the rank."""
    while orders.readline():
        go.set()
    os._exit(1)  # The run file is valid as it is.


if __name__ == "__main__":
    sys.exit(main())
