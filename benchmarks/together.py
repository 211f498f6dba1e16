"""What GPUs of one host get alone and all at once: `isthmus measure` under mpirun beside torch, in turns.

python benchmarks/together.py [--turns 3] [--mpirun "mpirun -n"] [-o TABLE.md]

Pinned copies of one size, each way and both ways. torch has a process a GPU, which measure one after the other and then
together from a barrier on. Rates are the median over the turns of each turn's median, with the least and the largest of
the turns; in GB/s, both ways as a sum. Needs torch, mpi4py and two GPUs or more.
"""

import argparse
import json
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

SIZE = 256 << 20
SECONDS = 1.5
WAYS = ("h2d", "d2h", "both")
PHASES = ("alone", "together")

# Rates by phase, way and GPU.
Rates = dict[tuple[str, str, int], float]


def by_torch() -> Rates:
    """What a process a GPU gets with torch."""
    import torch
    import torch.multiprocessing as processes

    count = torch.cuda.device_count()
    context = processes.get_context("spawn")
    barrier, found = context.Barrier(count), context.Queue()
    started = [context.Process(target=_copy, args=(gpu, count, barrier, found)) for gpu in range(count)]
    for process in started:
        process.start()
    rates = {key: rate for _ in started for key, rate in found.get().items()}
    for process in started:
        process.join()
    return rates


def _copy(gpu: int, count: int, barrier: Any, found: Any) -> None:
    import torch

    torch.cuda.set_device(gpu)
    out, back = (torch.randint(0, 256, (SIZE,), dtype=torch.uint8).pin_memory() for _ in range(2))
    there, other = (torch.randint(0, 256, (SIZE,), dtype=torch.uint8, device="cuda") for _ in range(2))
    first, second = torch.cuda.Stream(), torch.cuda.Stream()

    def once(way: str) -> None:
        if way != "d2h":
            with torch.cuda.stream(first):
                there.copy_(out, non_blocking=True)
        if way != "h2d":
            with torch.cuda.stream(second):
                back.copy_(other, non_blocking=True)
        torch.cuda.synchronize()

    def rate(way: str) -> float:
        for _ in range(3):
            once(way)
        times = []
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end:
            began = time.perf_counter()
            once(way)
            times.append(time.perf_counter() - began)
        return (2 if way == "both" else 1) * SIZE / statistics.median(times) / 1e9

    rates = {}
    for way in WAYS:
        for turn in range(count):
            barrier.wait()
            if turn == gpu:
                rates["alone", way, gpu] = rate(way)
        barrier.wait()
        rates["together", way, gpu] = rate(way)
    found.put(rates)


def by_isthmus(mpirun: str, count: int) -> Rates:
    """What a fleet file says of the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "fleet.json")
        command = [*shlex.split(mpirun), str(count), sys.executable, "-m", "isthmus", "measure", "bandwidth"]
        command += ["--device", "cuda", "--memory", "pinned", "--sizes", str(SIZE), "-o", str(path)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        fleet = json.loads(path.read_text("utf-8"))
    return {
        (point["phase"], point["direction"], member["fingerprint"]["device"].get("index", 0)): (
            (2 if point["direction"] == "both" else 1) * SIZE / summary[3] / 1e9  # Its median.
        )
        for member in fleet["members"]
        for point, summary in zip(fleet["points"], member["summaries"], strict=False)
        if point["method"] == "copy"
    }


def table(turns: dict[str, list[Rates]]) -> str:
    """A row a phase, way and GPU, a column a program."""
    lines = ["| | | GPU | " + " | ".join(turns) + " |", "|---|---|---|" + "---|" * len(turns)]
    for key in sorted(turns["torch"][0], key=lambda key: (PHASES.index(key[0]), WAYS.index(key[1]), key[2])):
        phase, way, gpu = key
        cells = []
        for found in turns.values():
            rates = [rates[key] for rates in found]
            cells.append(f"{statistics.median(rates):.1f} ({min(rates):.1f} to {max(rates):.1f})")
        lines.append(f"| {phase} | {way} | {gpu} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure in turns, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--mpirun", default="mpirun -n", help="what starts ranks; their number comes after it")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE")
    options = parser.parse_args()

    import torch

    names = [torch.cuda.get_device_name(gpu) for gpu in range(torch.cuda.device_count())]
    if len(names) < 2:
        parser.error(f"needs two GPUs, found {len(names)}")
    turns: dict[str, list[Rates]] = defaultdict(list)
    for turn in range(options.turns):
        turns["torch"].append(by_torch())
        turns["isthmus"].append(by_isthmus(options.mpirun, len(names)))
        print(f"turn {turn + 1} of {options.turns}", file=sys.stderr, flush=True)
    text = table(turns)
    print(text)
    if options.output:
        about = (
            f"`python benchmarks/together.py --turns {options.turns}` on {len(names)} GPUs of one host, {names[0]}: "
            f"pinned copies of {SIZE >> 20} MiB in GB/s, both ways as a sum; the median of the turns, in parentheses "
            "the least and the largest.\n"
        )
        options.output.write_text(f"# GPUs alone and together\n\n{about}\n{text}\n", "utf-8")


if __name__ == "__main__":
    main()
