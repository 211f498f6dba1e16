"""`isthmus fleet` on a made fleet of ten thousand nodes with planted faults, held against its bars.

python benchmarks/fleet.py [--hosts 10000] [--seed 1] [--files FOLDER] [-o NAME]

Writes a fleet file a node (2.5 GB for ten thousand; kept in --files, else in a temporary folder), runs the command
on them as a user does, and holds its answer against what was planted. Prints a line a bar; -o writes NAME.md and .json.
Exit code 1: a bar was missed. The times bind for ten thousand hosts on two cores.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from fleet_bars import Bar, bars_of, table
from fleet_model import DEVICES, FleetModel
from fleet_usage import Usage, watched

_BASE = Path(__file__).resolve().parents[1] / "results" / "h200-cuda.json.gz"


def main() -> int:
    """Make the fleet, run the command, compare."""
    options = _options()
    folder = options.files or Path(tempfile.mkdtemp(prefix="fleet-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        model = FleetModel(_BASE, options.hosts, options.seed)
        began = time.monotonic()
        _write(model, folder)
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{options.hosts} files, {size / 1e9:.2f} GB, written in {time.monotonic() - began:.0f} s", flush=True)
        document, usage = _run(folder)
        bars = bars_of(model, document, usage)
    finally:
        if not options.files:
            shutil.rmtree(folder)
    return _report(options, model, bars, usage)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=10_000, help="nodes of eight devices each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", type=Path, metavar="FOLDER", help="keep the node files here")
    parser.add_argument("-o", "--output", type=Path, metavar="NAME", help="write NAME.md and NAME.json")
    options = parser.parse_args()
    if options.hosts < 8:
        parser.error("expected at least 8 hosts: among fewer devices the planted faults are not rare")
    return options


def _write(model: FleetModel, folder: Path) -> None:
    write = partial(model.write, folder=folder)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for _ in pool.map(write, range(model.hosts), chunksize=16):
            pass


def _run(folder: Path) -> tuple[dict[str, object], Usage]:
    """What the command says as JSON, and what it took."""
    with tempfile.TemporaryDirectory() as place:
        output = Path(place) / "fleet.json"
        words = [sys.executable, "-m", "isthmus", "fleet", str(folder), "-o", str(output)]
        usage = watched(subprocess.Popen(words, stdout=subprocess.DEVNULL))
        if usage.code:
            raise SystemExit(f"isthmus fleet ended with {usage.code}")
        return json.loads(output.read_bytes()), usage


def _report(options: argparse.Namespace, model: FleetModel, bars: list[Bar], usage: Usage) -> int:
    text = table(bars)
    print(text)
    if options.output:
        about = (
            f"`python benchmarks/fleet.py --hosts {options.hosts} --seed {options.seed}`: {options.hosts} nodes of "
            f"{DEVICES} devices, {len(model.points)} points each, {len(model.faults)} devices with planted faults, on "
            f"{len(os.sched_getaffinity(0))} CPUs, which {os.getloadavg()[1]:.1f} processes wanted in the five minutes "
            "before the end: more than there are CPUs lengthen the time.\n\n"
        )
        options.output.with_suffix(".md").write_text("# A simulated fleet\n\n" + about + text + "\n", "utf-8")
        content = {
            "hosts": options.hosts,
            "devices": options.hosts * DEVICES,
            "points": len(model.points),
            "seed": options.seed,
            "seconds": usage.seconds,
            "cpu_seconds": usage.cpu_seconds,
            "peak_bytes": usage.peak_bytes,
            "load_average": os.getloadavg(),
            "bars": [bar.__dict__ for bar in bars],
        }
        options.output.with_suffix(".json").write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    return int(any(bar.met is False for bar in bars))


if __name__ == "__main__":
    sys.exit(main())
