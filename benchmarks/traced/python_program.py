"""What the Python programs of this folder share: arguments, counted copies, the clock, and the line that they print."""

import json
import struct
import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from os import environ
from pathlib import Path

PROFILED_SHARE = 4
DIRECTIONS = ("h2d", "d2h", "d2d")


class Program:
    """One run of a program: which version, how many steps, what it asked for, and how long that took.

    Copies are those that the program asks for. What its library copies besides, such as gradients that ranks exchange,
    it does not know.
    """

    def __init__(self, steps: int, synchronize: Callable[[], object]) -> None:
        """Read the command line; `synchronize` returns when the device has nothing to do any more."""
        parser = ArgumentParser(usage="%(prog)s [fixed] [steps] [--profiler FOLDER]")
        parser.add_argument("words", nargs="*")
        parser.add_argument("--profiler", type=Path, metavar="FOLDER", help="write what torch.profiler records there")
        given = parser.parse_args()
        words = [word for word in given.words if word != "fixed"]
        if len(words) > 1 or not all(word.isdecimal() and int(word) > 0 for word in words):
            parser.error(f"expected fixed and a count of steps from 1 on, found {' '.join(given.words)}")
        self.fixed = "fixed" in given.words
        # torch.profiler writes much of each step.
        usual = max(steps // PROFILED_SHARE, 1) if given.profiler else steps
        self.steps = int(words[0]) if words else usual
        self.name = Path(sys.argv[0]).stem + ("_fixed" if self.fixed else "")
        self._profiles: Path | None = given.profiler
        self._synchronize = synchronize
        self._copies = {direction: [0, 0] for direction in DIRECTIONS}
        self._seconds = 0.0
        # Of the bytes that it asked for, how many while the clock ran.
        self._timed_bytes = 0

    def count(self, direction: str, size: int, calls: int = 1) -> None:
        """So many copies, each of so many bytes."""
        total = self._copies[direction]
        total[0] += calls
        total[1] += calls * size

    @contextmanager
    def timed(self) -> Iterator[None]:
        """What is measured: it begins when the device has nothing to do any more, and ends so."""
        self._synchronize()
        with self._profiler():
            before, begin = self._asked_for(), time.perf_counter()
            yield
            self._synchronize()
            self._seconds = time.perf_counter() - begin
            self._timed_bytes = self._asked_for() - before

    def report(self, checksum: int) -> None:
        """Print the one line on stdout."""
        copies = {direction: {"calls": calls, "bytes": size} for direction, (calls, size) in self._copies.items()}
        line = {"program": self.name, "seconds": self._seconds, "copies": copies, "checksum": checksum}
        share = self._timed_bytes / max(self._asked_for(), 1)
        print(json.dumps({**line, "timed_share": share}), flush=True)

    def _asked_for(self) -> int:
        return sum(size for _, size in self._copies.values())

    def _profiler(self) -> AbstractContextManager[object]:
        if self._profiles is None:
            return nullcontext()
        import torch.profiler

        file = self._profiles / f"{self.name}.rank{environ.get('RANK', '0')}.json"
        recorded: AbstractContextManager[object] = torch.profiler.profile(
            on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(file))
        )
        return recorded


def bits(value: float) -> int:
    """A number whose equality is that of the values, to the last bit."""
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def expect(right: bool, what: str) -> None:
    """After the clock has stopped: end the program where data is not what it should be."""
    if not right:
        sys.exit(f"wrong data: {what}")
