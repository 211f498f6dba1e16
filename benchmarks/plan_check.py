"""Plans against what they plan: needs drawn at random, and every way to meet each measured for longer.

python benchmarks/plan_check.py [--run FILE...] [--device cuda:0] [--needs 48] [--seed 0] [-o checked.json]

The first choice of `isthmus plan`, measured on the spot, takes at most 1.05 times as long as the fastest way in 95 % of
the needs. For each --run, the first choice predicted from it takes at most 1.1 times as long in 95 %, the time that was
predicted for it is within 20 % of the measured one in 90 %, and the measured time within its interval in 95 %.
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
from isthmus.plan import Method, Plan, answer, measured_plan
from isthmus.record import (
    GIB,
    MIB,
    BufferNeed,
    ManagedNeed,
    Need,
    PiecesNeed,
    Run,
    SectionNeed,
    format_bytes,
    format_seconds,
    parse_bytes,
    read_run,
)

SPOT_FACTOR, SPOT_SHARE = 1.05, 0.95
CHOICE_FACTOR, CHOICE_SHARE = 1.10, 0.95
TIME_FACTOR, TIME_SHARE = 1.20, 0.90
INTERVAL_SHARE = 0.95
# For all ways of one need, none of them ruled out.
NEED_SECONDS = 12.0


class Checked(NamedTuple):
    """A need with its answers: measured on the spot, for longer with every way, and predicted from each run."""

    need: Need
    spot: Plan
    truth: Plan
    predicted: Sequence[Plan]

    @property
    def seconds(self) -> dict[str, float]:
        """What each way takes."""
        return {way.name: way.seconds.median for way in self.truth.methods}

    def known(self, plan: Plan) -> list[Method]:
        """The ways of a plan whose time was measured for longer, too."""
        return [way for way in plan.methods if way.name in self.seconds]

    def slowdown(self, plan: Plan) -> float | None:
        """Time of a plan's first choice over that of the fastest way; None where it was not measured."""
        known = self.known(plan)
        return self.seconds[known[0].name] / min(self.seconds.values()) if known else None

    def error(self, predicted: Plan) -> float | None:
        """Predicted over measured time of the predicted first choice."""
        known = self.known(predicted)
        return known[0].seconds.median / self.seconds[known[0].name] if known else None

    def held(self, predicted: Plan) -> list[bool]:
        """Of each way with a predicted time, whether its measured time lies within the interval."""
        return [way.seconds.low <= self.seconds[way.name] <= way.seconds.high for way in self.known(predicted)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Check, print the table and the figures, and write all times where they are wanted."""
    given = _parse(arguments)
    device = open_device(given.device, bind=True)
    runs = [read_run(path) for path in given.run]
    shared = device.description.shares_host_memory
    largest = given.largest or (16 * MIB if shared else GIB)
    needs = draw_needs(given.needs, given.seed, largest, rate=2e9 if shared else 40e9)
    begin = time.monotonic()
    checked = []
    for place, need in enumerate(needs):
        found = _check(runs, device, need, given.seed + place, given.time)
        if isinstance(found, str):
            print(f"{_words(need):62} {found}")
        else:
            checked.append(found)
            print(_row(found), flush=True)
    lines = _figures(checked, [path.name for path in given.run], len(needs))
    print(*lines, f"{time.monotonic() - begin:.0f} s for {len(needs)} needs", sep="\n")
    if given.output:
        data = json.dumps(_as_json(runs, device, checked, lines), indent=1).encode()
        given.output.write_bytes(gzip.compress(data, mtime=0) if given.output.suffix == ".gz" else data)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument(
        "--run", type=Path, nargs="+", default=[], help="what isthmus measure found here, to predict from as well"
    )
    parser.add_argument("--device", help="cuda:0, opencl:0, host; the best one present by default")
    parser.add_argument("--needs", type=int, default=48)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--largest", type=parse_bytes, help="bytes of the largest buffer and array")
    parser.add_argument("--time", type=float, default=NEED_SECONDS, help="seconds for all ways of one need")
    parser.add_argument("-o", "--output", type=Path, help="all times as JSON, compressed for a name that ends in .gz")
    return parser.parse_args(arguments)


def _check(runs: Sequence[Run], device: OpenDevice, need: Need, seed: int, seconds: float) -> Checked | str:
    """The need with its ways measured twice, on the spot and for longer; or why there is nothing to measure."""
    try:
        predicted = [answer(run, need) for run in runs]
        spot = measured_plan(need, measure_ways(device, need, seed=seed), device.description)
        truth = measured_plan(need, measure_ways(device, need, seconds, seed + 1, every=True), device.description)
    except IsthmusError as error:
        return f"not measured: {error}"
    if not truth.methods or not spot.methods:
        return "not measured: " + "; ".join(dict.fromkeys([*truth.unknown.values(), *truth.unpriced.values()]))
    return Checked(need, spot, truth, predicted)


def _row(checked: Checked) -> str:
    first, fastest = checked.spot.methods[0], min(checked.seconds, key=checked.seconds.__getitem__)
    spent = checked.spot.timed.seconds if checked.spot.timed else 0.0
    row = (
        f"{_words(checked.need):62} {first.name:28} {format_seconds(first.seconds.median):>8} "
        f"{fastest:28} {format_seconds(checked.seconds[fastest]):>8} "
        f"{_number(checked.slowdown(checked.spot))} {spent:4.1f} s"
    )
    for plan in checked.predicted:
        chosen = plan.methods[0].name if plan.methods else "no time"
        row += f"  {chosen:28} {_number(checked.slowdown(plan))} {_number(checked.error(plan))}"
    return row


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


def _share(met: Sequence[bool], bar: float) -> str:
    return f"in {sum(met) / len(met):.1%} of {len(met)} (bar {bar:.0%})" if met else "in none: no time is known"


def _choices(name: str, slowdowns: Sequence[float | None], factor: float, bar: float) -> str:
    met = [each <= factor for each in slowdowns if each is not None]
    return f"{name}: first choice within {100 * (factor - 1):.0f} % of the fastest {_share(met, bar)}"


def _figures(checked: Sequence[Checked], runs: Sequence[str], asked: int) -> list[str]:
    """The figures beside their bars."""
    lines = [f"{len(checked)} of {asked} needs measured"]
    if not checked:
        return lines
    spots = [each.slowdown(each.spot) for each in checked]
    lines += [_choices("measured on the spot", spots, SPOT_FACTOR, SPOT_SHARE)]
    for name, plans in zip(runs, zip(*(each.predicted for each in checked), strict=True), strict=True):
        pairs = list(zip(checked, plans, strict=True))
        lines += [_choices(name, [each.slowdown(plan) for each, plan in pairs], CHOICE_FACTOR, CHOICE_SHARE)]
        errors = [error for each, plan in pairs if (error := each.error(plan)) is not None]
        close = [1 / TIME_FACTOR <= error <= TIME_FACTOR for error in errors]
        lines += [f"{name}: times within 20 % {_share(close, TIME_SHARE)}"]
        held = [inside for each, plan in pairs for inside in each.held(plan)]
        lines += [f"{name}: times within their interval {_share(held, INTERVAL_SHARE)}"]
    longest = max((each.spot.timed.seconds for each in checked if each.spot.timed), default=0.0)
    lines.append(f"longest answer on the spot {longest:.1f} s (bar 5 s)")
    return lines


def _as_json(
    runs: Sequence[Run], device: OpenDevice, checked: Sequence[Checked], lines: Sequence[str]
) -> dict[str, Any]:
    def times(plan: Plan) -> dict[str, Any]:
        return {way.name: {"seconds": way.seconds, "samples": way.samples} for way in plan.methods}

    needs = [
        {
            "need": {"kind": type(each.need).__name__, **asdict(each.need)},
            "spot": times(each.spot),
            "ruled_out": each.spot.timed.ruled_out if each.spot.timed else {},
            "truth": times(each.truth),
            "left_out": dict(each.truth.unknown) | dict(each.truth.unpriced),
            "predicted": [times(plan) for plan in each.predicted],
            "slowdown": each.slowdown(each.spot),
            "predicted_slowdown": [each.slowdown(plan) for plan in each.predicted],
            "predicted_over_measured": [each.error(plan) for plan in each.predicted],
        }
        for each in checked
    ]
    return {
        "runs": [run.run for run in runs],
        "device": device.description.name,
        "figures": list(lines),
        "needs": needs,
    }


if __name__ == "__main__":
    main()
