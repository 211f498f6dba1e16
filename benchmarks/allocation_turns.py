"""Allocations as `isthmus measure allocation` times them against the bare loop, in turns.

Build bare_allocation first (see there), then:  python benchmarks/allocation_turns.py ./bare_allocation [TURNS]

Both run in turns, since machines drift: each turn gives a ratio for every kind, size and call, and the table shows the
median over the turns with the least and the largest.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

SIZES = (256, 64 << 10, 1 << 20, 16 << 20, 64 << 20)
KINDS = (
    "malloc",
    "pinned",
    "pinned_portable",
    "write_combined",
    "mapped",
    "registered",
    "managed",
    "device",
    "device_pool",
)
PHASES = ("allocate", "free")

Times = dict[tuple[str, int, str], float]


def measured() -> Times:
    """Medians of a run of Isthmus."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "isthmus", "measure", "allocation", "--device", "cuda:0", "--time", "5s"]
        command += ["--memory", ",".join(KINDS), "--sizes", ",".join(map(str, SIZES)), "-o", f"{folder}/run.json"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        run = json.loads(Path(folder, "run.json").read_text("utf-8"))
    return {
        (case["host_memory"], case["bytes"], case["method"]): statistics.median(case["series"][0]["samples"])
        for case in run["cases"]
        if case.get("series") and case["method"] in PHASES
    }


def bare(program: str) -> Times:
    """Medians of the bare loop."""
    lines = subprocess.run([program, *map(str, SIZES)], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    return {(row["kind"], row["bytes"], phase): row[phase] for row in rows for phase in PHASES}


def main() -> None:
    """Print the table and how many ratios are within 10 %."""
    program, turns = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    ratios = defaultdict(list)
    floor = defaultdict(list)
    for _ in range(turns):
        ours, theirs = measured(), bare(program)
        for key in ours.keys() & theirs.keys():
            ratios[key].append(ours[key] / theirs[key])
            floor[key].append(theirs[key])
    order = sorted(ratios, key=lambda key: (KINDS.index(key[0]), key[1], key[2]))
    for kind, size, phase in order:
        found = ratios[kind, size, phase]
        micros = 1e6 * statistics.median(floor[kind, size, phase])
        middle = statistics.median(found)
        spread = f"{min(found):.2f} to {max(found):.2f}"
        print(f"{kind:16} {size:>9} {phase:8} bare {micros:10.3f} us  ratio {middle:.2f} ({spread})")
    within = sum(0.9 <= statistics.median(found) <= 1.1 for found in ratios.values())
    print(f"{within} of {len(ratios)} medians within 10 % of the bare loop, {turns} turns")


if __name__ == "__main__":
    main()
