"""Plans against what they plan: needs drawn at random, and every way to meet each measured for longer.

python benchmarks/plan_check.py [--run FILE] [--device cuda:0] [--needs 48] [--seed 0] [-o checked.json]

Three bars. The first choice of `isthmus plan`, measured on the spot, takes at most 1.05 times as long as the fastest
way in 95 % of the needs. With --run, the first choice predicted from that run takes at most 1.1 times as long in 95 %,
and the time that was predicted for it is within 20 % of the measured one in 90 %.
"""

import argparse
import gzip
import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from plan_check_needs import draw_needs

from isthmus.errors import IsthmusError
from isthmus.experiment.contenders.measure import measure_ways
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.plan import BufferNeed, ManagedNeed, Need, PiecesNeed, Plan, SectionNeed, answer, measured_plan
from isthmus.record import GIB, MIB, Run, format_bytes, format_seconds, parse_bytes, read_run

SPOT_FACTOR, SPOT_SHARE = 1.05, 0.95
CHOICE_FACTOR, CHOICE_SHARE = 1.10, 0.95
TIME_FACTOR, TIME_SHARE = 1.20, 0.90
# For all ways of one need, none of them ruled out.
NEED_SECONDS = 12.0


class Checked(NamedTuple):
    """A need with its answers: measured on the spot, measured for longer with every way, and predicted from a run."""

    need: Need
    spot: Plan
    truth: Plan
    predicted: Plan | None

    @property
    def seconds(self) -> dict[str, float]:
        """What each way takes."""
        return {way.name: way.seconds.median for way in self.truth.ways}

    def slowdown(self, plan: Plan) -> float | None:
        """Time of a plan's first choice over that of the fastest way; None where it was not measured."""
        known = [way.name for way in plan.ways if way.name in self.seconds]
        return self.seconds[known[0]] / min(self.seconds.values()) if known else None

    @property
    def error(self) -> float | None:
        """Predicted over measured time of the predicted first choice."""
        ways = [way for way in (self.predicted.ways if self.predicted else ()) if way.name in self.seconds]
        return ways[0].seconds.median / self.seconds[ways[0].name] if ways else None


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, print the table and the figures, and write all times where they are wanted."""
    given = _parse(arguments)
    device = open_device(given.device, bind=True)
    run = read_run(given.run) if given.run else None
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
        data = json.dumps(_as_json(run, device, checked, lines), indent=1).encode()
        given.output.write_bytes(gzip.compress(data, mtime=0) if given.output.suffix == ".gz" else data)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--run", type=Path, help="what isthmus measure found on this machine, to predict from as well")
    parser.add_argument("--device", help="cuda:0, opencl:0, host; the best one present by default")
    parser.add_argument("--needs", type=int, default=48)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--largest", type=parse_bytes, help="bytes of the largest buffer and array")
    parser.add_argument("--time", type=float, default=NEED_SECONDS, help="seconds for all ways of one need")
    parser.add_argument("-o", "--output", type=Path, help="all times as JSON, compressed for a name that ends in .gz")
    return parser.parse_args(arguments)


def _check(run: Run | None, device: OpenDevice, need: Need, seed: int, seconds: float) -> Checked | str:
    """The need with its ways measured twice, on the spot and for longer; or why there is nothing to measure."""
    try:
        predicted = answer(run, need) if run else None
        spot = measured_plan(need, measure_ways(device, need, seed=seed), device.description)
        truth = measured_plan(need, measure_ways(device, need, seconds, seed + 1, every=True), device.description)
    except IsthmusError as error:
        return f"not measured: {error}"
    if not truth.ways or not spot.ways:
        return "not measured: " + "; ".join(dict.fromkeys([*truth.unknown.values(), *truth.unpriced.values()]))
    return Checked(need, spot, truth, predicted)


def _row(checked: Checked) -> str:
    first, fastest = checked.spot.ways[0], min(checked.seconds, key=checked.seconds.__getitem__)
    spent = checked.spot.timed.seconds if checked.spot.timed else 0.0
    row = (
        f"{_words(checked.need):62} {first.name:28} {format_seconds(first.seconds.median):>8} "
        f"{fastest:28} {format_seconds(checked.seconds[fastest]):>8} "
        f"{_number(checked.slowdown(checked.spot))} {spent:4.1f} s"
    )
    if checked.predicted is None:
        return row
    chosen = checked.predicted.ways[0].name if checked.predicted.ways else "no time"
    return f"{row}  {chosen:28} {_number(checked.slowdown(checked.predicted))} {_number(checked.error)}"


def _number(value: float | None) -> str:
    return "    -" if value is None else f"{value:5.2f}"


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
    """The figures beside their bars."""
    lines = [f"{len(checked)} of {asked} needs measured"]
    spots = [each.slowdown(each.spot) for each in checked]
    predicted = [each.slowdown(each.predicted) for each in checked if each.predicted]
    for name, found, factor, bar in (
        ("measured on the spot", spots, SPOT_FACTOR, SPOT_SHARE),
        ("predicted", predicted, CHOICE_FACTOR, CHOICE_SHARE),
    ):
        known = [each for each in found if each is not None]
        if known:
            share = sum(each <= factor for each in known) / len(known)
            within = f"first choice within {100 * (factor - 1):.0f} % of the fastest in {share:.1%} (bar {bar:.0%})"
            lines.append(f"{name} ({len(known)}): {within}")
    errors = [each.error for each in checked if each.error is not None]
    if errors:
        share = sum(1 / TIME_FACTOR <= each <= TIME_FACTOR for each in errors) / len(errors)
        lines.append(f"predicted times ({len(errors)}): within 20 % in {share:.1%} (bar {TIME_SHARE:.0%})")
    longest = max((each.spot.timed.seconds for each in checked if each.spot.timed), default=0.0)
    lines.append(f"longest answer on the spot {longest:.1f} s (bar 5 s)")
    return lines


def _as_json(run: Run | None, device: OpenDevice, checked: Sequence[Checked], lines: Sequence[str]) -> dict[str, Any]:
    def times(plan: Plan) -> dict[str, Any]:
        return {way.name: {"seconds": way.seconds, "samples": way.samples} for way in plan.ways}

    needs = [
        {
            "need": {"kind": type(each.need).__name__, **asdict(each.need)},
            "spot": times(each.spot),
            "ruled_out": each.spot.timed.ruled_out if each.spot.timed else {},
            "truth": times(each.truth),
            "left_out": dict(each.truth.unknown) | dict(each.truth.unpriced),
            "predicted": times(each.predicted) if each.predicted else None,
            "slowdown": each.slowdown(each.spot),
            "predicted_slowdown": each.slowdown(each.predicted) if each.predicted else None,
            "predicted_over_measured": each.error,
        }
        for each in checked
    ]
    return {"run": run.run if run else None, "device": device.description.name, "figures": list(lines), "needs": needs}


if __name__ == "__main__":
    main()
