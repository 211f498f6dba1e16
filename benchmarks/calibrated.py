"""A calibrated table against the built-in one and the driver's own copy, in turns: no case may lose by more than 2 %.

python benchmarks/calibrated.py [--device cuda:0] [--table FILE] [--quick] [-o FOLDER]

Without --table the device is calibrated first, and -o keeps the table. Every power of two from 64 KiB to 1 GiB, both
ways, in memory that is used again, that no cache holds and that nobody has touched; and pieces in one batch. A line a
case; exit code 1 if one was certainly below the bar. Some five minutes, or one with --quick.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from isthmus import _native
from isthmus.errors import IsthmusError, exit_code
from isthmus.experiment.calibration.buffers import DRIVER, Choice
from isthmus.experiment.calibration.calibrate import calibrate, table_text
from isthmus.experiment.calibration.turns import (
    BUILT_IN,
    DRIVERS,
    LEAST_BYTES,
    MEASURED,
    SITUATIONS,
    Samples,
    TableTurns,
    gain,
)
from isthmus.machine.devices import open_device
from isthmus.record import GIB, KIB, MIB, Direction, Interval, format_bytes
from isthmus.transfer import Session

BAR = 0.98
DIRECTIONS: tuple[Direction, ...] = ("h2d", "d2h")
NAMES = (BUILT_IN, MEASURED, DRIVERS)
PIECES = ((256, 32), (256, KIB), (4 * KIB, 32), (4 * KIB, 4 * KIB), (64 * KIB, 32), (64 * KIB, KIB))
ROUNDS = 15


class Line(NamedTuple):
    """One case: how many times as fast as the built-in table and as the driver, where that has such a copy."""

    name: str
    built_in: Interval
    driver: Interval | None
    gigabytes_per_second: float


def buffers(turns: TableTurns, largest: int) -> Iterator[Line]:
    """Whole buffers of every size, way and situation."""
    for direction in DIRECTIONS:
        size = LEAST_BYTES
        while size <= largest:
            for situation in SITUATIONS[direction]:
                yield _line(
                    f"{direction} {format_bytes(size)} {situation}", size, _again(turns, direction, size, situation)
                )
            size *= 2


def _again(turns: TableTurns, direction: Direction, size: int, situation: str) -> Samples:
    """What seems to lose gets another go, whose samples join those of the first: one in forty does so by chance."""
    found = turns.timed(direction, size, situation, NAMES)
    if gain(found[BUILT_IN], found[MEASURED]).median >= BAR:
        return found
    more = turns.timed(direction, size, situation, NAMES)
    return {name: [*found[name], *more[name]] for name in NAMES}


def _line(name: str, size: int, found: Samples) -> Line:
    driver = gain(found[DRIVERS], found[MEASURED]) if DRIVERS in found else None
    return Line(name, gain(found[BUILT_IN], found[MEASURED]), driver, size / median(found[MEASURED]) / 1e9)


def pieces(device: str, tables: dict[str, Path], order: random.Random) -> Iterator[Line]:
    """Batches of pieces that lie apart on both sides."""
    sessions = {name: Session(device, table=path) for name, path in tables.items()}
    most = 2 * max(width * count for width, count in PIECES)
    host = np.full(most, 7, np.uint8)
    there = {name: session.empty(most, np.uint8) for name, session in sessions.items()}
    for width, count in PIECES:
        places = [slice(2 * at * width, (2 * at + 1) * width) for at in range(count)]
        on_host = [host[place] for place in places]
        on_device = {name: [array[place] for place in places] for name, array in there.items()}
        for direction in DIRECTIONS:
            found: dict[str, list[float]] = {name: [] for name in sessions}
            for turn in range(ROUNDS + 1):
                for name in order.sample(list(sessions), len(sessions)):
                    pair = (on_device[name], on_host) if direction == "h2d" else (on_host, on_device[name])
                    begin = time.perf_counter()
                    sessions[name].copy_batch(*pair)
                    if turn:
                        found[name].append(time.perf_counter() - begin)
            yield _line(f"{direction} {count} pieces of {format_bytes(width)}", width * count, found)
    for session in sessions.values():
        session.close()


def main() -> int:
    """Measure and print; 1 where the bar was missed."""
    given = _parse()
    begin = time.monotonic()
    opened = open_device(given.device, bind=True)
    description = opened.description
    folder = given.output or Path("build")
    folder.mkdir(parents=True, exist_ok=True)
    built_in = _native.default_transfer_table(description.backend, description.name)
    if given.table:
        table = _native.read_transfer_table(str(given.table))
    else:
        table = calibrate(opened, given.quick, 0, lambda _ended, _total: None).table
        print(f"calibrated in {time.monotonic() - begin:.0f} s")
    texts = {BUILT_IN: built_in.text(), MEASURED: table.text()}
    paths = {name: folder / f"{name}.table" for name in texts}
    for name, path in paths.items():
        path.write_text(texts[name], encoding="utf-8")
    texts[DRIVERS] = table_text("driver", [Choice(each, 0, DRIVER, 1, 1) for each in DIRECTIONS], [], [])
    largest = 16 * MIB if description.shares_host_memory else 64 * MIB if given.quick else GIB
    turns = TableTurns(opened.native, texts, largest, given.quick, 7)
    lines: list[Line] = []
    for line in _both(turns, largest, description.spec, paths):
        lines.append(line)
        driver = f"{line.driver.median:7.2f} x driver" if line.driver else ""
        low, high = line.built_in.low, line.built_in.high
        below = "  BELOW" if high < BAR else "  below, not certainly" if line.built_in.median < BAR else ""
        print(
            f"{line.name:32} {line.gigabytes_per_second:7.2f} GB/s  {line.built_in.median:5.2f} x built-in "
            f"({low:.2f} to {high:.2f}){driver}{below}",
            flush=True,
        )
    missed = [line.name for line in lines if line.built_in.high < BAR]
    worst = min(lines, key=lambda line: line.built_in.median)
    print(
        f"{len(missed)} of {len(lines)} certainly below {BAR} of the built-in table; lowest {worst.built_in.median:.3f}"
    )
    print(f"({worst.name}); {description.name}, {time.monotonic() - begin:.0f} s; tables in {folder}")
    (folder / "calibrated.json").write_text(json.dumps([line._asdict() for line in lines], indent=1), encoding="utf-8")
    return 1 if missed and not description.shares_host_memory else 0


def _both(turns: TableTurns, largest: int, device: str, tables: dict[str, Path]) -> Iterator[Line]:
    yield from buffers(turns, largest)
    turns.close()
    yield from pieces(device, tables, random.Random(7))


def _parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--device", help="cuda:0, opencl:0, host; the best one present by default")
    parser.add_argument("--table", type=Path, help="a table that `isthmus calibrate -o` wrote, instead of a new one")
    parser.add_argument("--quick", action="store_true", help="up to 64 MiB, and fewer rounds")
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except IsthmusError as error:
        print(f"calibrated: {error}", file=sys.stderr)
        sys.exit(exit_code(error))
