"""What a session's first copies of pageable memory cost in a fresh process, and their rate from then on.

    python benchmarks/first_call.py [--device cuda:0] [--rounds 8] [--installed NAME=FOLDER ...]

Each round starts a process: it opens a session, makes the first and the second copy of 64 MiB each way, and then copies
1 GiB each way. The first copy of a direction gets the ring that it goes through. To compare two versions, install each
into a folder (pip install --target FOLDER .) and name both: their processes take turns.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from statistics import median

MIB = 1 << 20
FIRST_BYTES, RATE_BYTES, COPIES = 64 * MIB, 1 << 30, 9
WIDTH = 26


def timed(work: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def measured(device: str) -> dict[str, float]:
    """Milliseconds and GB/s of this process, by what was timed."""
    import numpy as np

    import isthmus

    found: dict[str, float] = {}
    begin = time.perf_counter()
    session = isthmus.Session(device)
    there = session.empty(RATE_BYTES, np.uint8)
    found["opening, ms"] = 1e3 * (time.perf_counter() - begin)
    data = np.frombuffer(np.random.default_rng(0).bytes(RATE_BYTES), np.uint8)
    back = np.ones(RATE_BYTES, np.uint8)
    few = slice(0, FIRST_BYTES)
    pairs = {"H2D": (there, data), "D2H": (back, there)}
    for direction, small in {"H2D": (there[few], data[few]), "D2H": (back[few], there[few])}.items():
        first, second = (timed(partial(session.copy, *small)) for _ in range(2))
        found[f"{direction} first, ms"], found[f"{direction} second, ms"] = 1e3 * first, 1e3 * second
    for direction, pair in pairs.items():
        seconds = [timed(partial(session.copy, *pair)) for _ in range(COPIES)]
        found[f"{direction} 1 GiB, GB/s"] = RATE_BYTES / median(seconds) / 1e9
    if not (back == data).all():
        raise SystemExit("what came back is not what was sent")
    return found


def in_own_process(device: str, folder: str) -> dict[str, float]:
    """The same of a process that is started for it, with the package of a folder."""
    path = os.pathsep.join(each for each in (folder, os.environ.get("PYTHONPATH", "")) if each)
    done = subprocess.run(
        [sys.executable, __file__, "--device", device, "--measure"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Print the table: medians of all processes, with the least and the largest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--installed", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measured(asked.device)))
        return
    folders = dict(each.split("=", 1) for each in asked.installed) or {"this": ""}
    samples: dict[tuple[str, str], list[float]] = defaultdict(list)
    for number in range(asked.rounds):
        for name in random.Random(number).sample(sorted(folders), len(folders)):
            for what, value in in_own_process(asked.device, folders[name]).items():
                samples[what, name].append(value)
    print(f"{'':18}" + "".join(f"{name:>{WIDTH}}" for name in folders))
    for what in dict.fromkeys(what for what, _ in samples):
        found = [samples[what, name] for name in folders]
        cells = [f"{median(each):.2f} [{min(each):.2f}, {max(each):.2f}]" for each in found]
        print(f"{what:18}" + "".join(f"{cell:>{WIDTH}}" for cell in cells))


if __name__ == "__main__":
    main()
