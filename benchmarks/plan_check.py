"""Plans against what they plan: needs drawn at random, and every way to meet each measured from beginning to end.

python benchmarks/plan_check.py [--run FILE] [--device cuda:0] [--needs 48] [--seed 0] [-o checked.json]

Without --run, `isthmus measure` measures what plans need first. Ways of one need alternate; the median of each counts.
Two bars: the first choice takes at most 1.1 times as long as the fastest way in 95 % of the needs, and the time that
was predicted for it is within 20 % of the measured one in 90 %.
"""

import argparse
import gzip
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from plan_check_needs import draw_needs
from plan_check_ways import Measured, ways_of

from isthmus.errors import IsthmusError
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.plan import BufferNeed, ManagedNeed, Need, PiecesNeed, Plan, SectionNeed, Way, answer
from isthmus.record import GIB, MIB, Run, format_bytes, format_seconds, parse_bytes, read_run

EXPERIMENTS = ("allocation", "bandwidth", "batching", "breakeven", "managed", "overlap", "strided")
CHOICE_FACTOR, CHOICE_SHARE = 1.10, 0.95
TIME_FACTOR, TIME_SHARE = 1.20, 0.90
# For all ways of one need together, after so many rounds.
NEED_SECONDS, LEAST_ROUNDS, MOST_ROUNDS = 2.0, 3, 8
# What takes less is run several times in a round: plans are about what a program does again and again, and so are the
# runs that they rest on (docs/measuring.md).
SEVERAL_SECONDS, RUNS_A_ROUND = 0.005, 5
# A way that should take so many times as long as the first choice is measured seldom, or not at all.
SLOW_FACTOR, SLOW_ROUNDS, HOPELESS_FACTOR = 2.5, 1, 25.0


class Checked(NamedTuple):
    """A need whose ways were measured: seconds of every run of each, and why others were not."""

    need: Need
    plan: Plan
    samples: dict[str, list[float]]
    left_out: dict[str, str]

    @property
    def first(self) -> Way:
        """What the plan would have chosen of what could be measured."""
        return next(way for way in self.plan.ways if way.name in self.samples)

    @property
    def fastest(self) -> str:
        """The way with the smallest median."""
        return min(self.samples, key=lambda name: median(self.samples[name]))

    @property
    def slowdown(self) -> float:
        """Time of the first choice over that of the fastest way."""
        return median(self.samples[self.first.name]) / median(self.samples[self.fastest])

    @property
    def error(self) -> float:
        """Predicted over measured time of the first choice."""
        return self.first.seconds.median / median(self.samples[self.first.name])


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, print the table and the figures, and write all samples where they are wanted."""
    given = _parse(arguments)
    device = open_device(given.device, bind=True)
    run = read_run(given.run) if given.run else _measured(device.description.spec, quick=given.quick)
    shared = device.description.shares_host_memory
    largest = given.largest or (16 * MIB if shared else GIB)
    needs = draw_needs(given.needs, given.seed, largest, rate=2e9 if shared else 40e9)
    begin = time.monotonic()
    checked = []
    for place, need in enumerate(needs):
        found = _check(run, device, need, given.seed + place, given.time)
        if isinstance(found, str):
            print(f"{_words(need):62} {found}")
        else:
            checked.append(found)
            print(_row(found), flush=True)
    lines = _figures(checked, len(needs))
    print(*lines, f"{time.monotonic() - begin:.0f} s for {len(needs)} needs", sep="\n")
    if given.output:
        data = json.dumps(_as_json(run, checked, lines), indent=1).encode()
        given.output.write_bytes(gzip.compress(data, mtime=0) if given.output.suffix == ".gz" else data)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--run", type=Path, help="what isthmus measure found on this machine")
    parser.add_argument("--quick", action="store_true", help="without --run: measure with --quick")
    parser.add_argument("--device", help="cuda:0, opencl:0, host; the best one present by default")
    parser.add_argument("--needs", type=int, default=48)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--largest", type=parse_bytes, help="bytes of the largest buffer and array")
    parser.add_argument("--time", type=float, default=NEED_SECONDS, help="seconds for the ways of one need")
    parser.add_argument("-o", "--output", type=Path, help="all samples as JSON, compressed for a name that ends in .gz")
    return parser.parse_args(arguments)


def _measured(device: str, *, quick: bool) -> Run:
    """What `isthmus measure` finds now."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.json.gz")
        command = [sys.executable, "-m", "isthmus", "measure", *EXPERIMENTS, "--device", device, "-o", str(path)]
        subprocess.run([*command, "--quick"] if quick else command, check=True, stdout=subprocess.DEVNULL)
        return read_run(path)


def _check(run: Run, device: OpenDevice, need: Need, seed: int, seconds: float) -> Checked | str:
    """The need with its ways measured in rounds; or why there is nothing to measure."""
    try:
        plan = answer(run, need)
    except IsthmusError as error:
        return f"no plan: {error}"
    if not plan.ways:
        return "no plan: " + "; ".join(dict.fromkeys([*plan.unknown.values(), *plan.missing_experiments]))
    most = HOPELESS_FACTOR * plan.ways[0].seconds.median
    left_out = {way.name: "many times slower" for way in plan.ways if way.seconds.median > most}
    try:
        ready = ways_of(device, need, [way for way in plan.ways if way.name not in left_out], seed)
    except IsthmusError as error:
        return f"not measured: {error}"
    runs: dict[str, int] = {}
    for name, measure in list(ready.items()):
        try:
            (seconds_a_run,) = measure(1)  # Not kept: it makes ready what later ones find.
            runs[name] = RUNS_A_ROUND if seconds_a_run < SEVERAL_SECONDS else 1
        except IsthmusError as error:
            left_out[name] = str(error)
            del ready[name]
    if not ready:
        return "not measured: " + "; ".join(dict.fromkeys(left_out.values()))
    return Checked(need, plan, _samples(plan, ready, runs, random.Random(seed), seconds), left_out)


def _samples(
    plan: Plan, ready: Mapping[str, Measured], runs: Mapping[str, int], order: random.Random, seconds: float
) -> dict[str, list[float]]:
    """Seconds of every run of every way, so many a round, in an order drawn anew for each round."""
    first = next(way.seconds.median for way in plan.ways if way.name in ready)
    slow = {way.name for way in plan.ways if way.seconds.median > SLOW_FACTOR * first}
    samples: dict[str, list[float]] = {name: [] for name in ready}
    begin = time.monotonic()
    for place in range(MOST_ROUNDS):
        if place >= LEAST_ROUNDS and time.monotonic() - begin > seconds:
            break
        names = [name for name in ready if name not in slow or place < SLOW_ROUNDS]
        order.shuffle(names)
        for name in names:
            samples[name] += ready[name](runs[name])
    return samples


def _row(checked: Checked) -> str:
    first = checked.first
    measured = median(checked.samples[first.name])
    fastest = f"{checked.fastest} {format_seconds(median(checked.samples[checked.fastest]))}"
    return (
        f"{_words(checked.need):62} {first.name + _options(first):28} {format_seconds(first.seconds.median):>8} "
        f"{format_seconds(measured):>8} {checked.error:5.2f}  {fastest:32} {checked.slowdown:5.2f} {first.beyond}"
    )


def _options(way: Way) -> str:
    return "".join(f" {name}={value}" for name, value in way.options.items())


def _words(need: Need) -> str:
    match need:
        case BufferNeed():
            return f"{format_bytes(need.bytes)} {need.direction} x {need.uses} from {need.source}"
        case PiecesNeed():
            layouts = f"{need.host_layout}:{need.device_layout}"
            return f"{need.pieces} x {need.piece_bytes} B {need.direction} {need.source} {layouts}"
        case SectionNeed():
            pitches = f"{need.pitch_bytes}:{need.device_pitch_bytes or need.width_bytes}"
            return f"{need.rows} rows of {need.width_bytes} B, pitch {pitches}, {need.direction} {need.source}"
        case ManagedNeed():
            touched = f"{need.fraction:.0%}" if need.fraction else f"every {format_bytes(need.stride_bytes or 0)}"
            return f"{format_bytes(need.bytes)} array, {touched} touched"
    return f"{format_bytes(need.bytes)} {need.source}, {format_seconds(need.compute_seconds)} of work"


def _figures(checked: Sequence[Checked], asked: int) -> list[str]:
    """The two figures beside their bars, of all needs and of those within what the run measured."""
    within = [each for each in checked if not each.first.beyond]
    lines = [f"{len(checked)} of {asked} needs planned and measured"]
    for name, chosen in (("all", checked), ("within the measured range", within)):
        if not chosen:
            continue
        choices = sum(each.slowdown <= CHOICE_FACTOR for each in chosen) / len(chosen)
        times = sum(1 / TIME_FACTOR <= each.error <= TIME_FACTOR for each in chosen) / len(chosen)
        lines.append(
            f"{name} ({len(chosen)}): first choice within 10 % of the fastest in {choices:.1%} "
            f"(bar {CHOICE_SHARE:.0%}); predicted within 20 % in {times:.1%} (bar {TIME_SHARE:.0%})"
        )
    return lines


def _as_json(run: Run, checked: Sequence[Checked], lines: Sequence[str]) -> dict[str, Any]:
    needs = [
        {
            "need": {"kind": type(each.need).__name__, **asdict(each.need)},
            "ways": [
                {"name": way.name, "seconds": way.seconds, "beyond": way.beyond, "options": way.options}
                for way in each.plan.ways
            ],
            "unknown": each.plan.unknown,
            "left_out": each.left_out,
            "samples": each.samples,
            "slowdown": each.slowdown,
            "predicted_over_measured": each.error,
        }
        for each in checked
    ]
    return {"run": run.run, "device": run.fingerprint.device.name, "figures": list(lines), "needs": needs}


if __name__ == "__main__":
    main()
