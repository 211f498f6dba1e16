"""Predictions against measurements: sizes held out of kept runs, pipelines predicted from copies and work alone.

python benchmarks/predictions.py RUN.json.gz ... [-o results/predictions.md]

A table for each run. Inside: how many of 100 measured times lie in the 95 % interval predicted for them. Noise: how
many predictions lie in the interval of the measured time itself, so that the run cannot say that they are wrong. Bar on
a quiet machine: a median error of at most 5 % and a 95th percentile of at most 15 % over all transfers of a run.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from isthmus.analysis.bandwidth.findings import checked_curves
from isthmus.analysis.overlap.model import overlaps
from isthmus.analysis.overlap.pipeline import pipeline_model
from isthmus.record import Interval, Run, kind_rank, read_run

MEDIAN_BAR, HIGH_BAR = 5.0, 15.0
# Measured, predicted.
Pair = tuple[Interval, Interval]


def main() -> int:
    """Writes the tables; 1 where a run misses the bar."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    runs = {path.name.partition(".")[0]: read_run(path) for path in options.runs}
    text = "\n".join(line for name, run in runs.items() for line in table(name, run))
    if options.output:
        options.output.write_text(f"{text}\n", "utf-8")
    else:
        print(text)
    return 0 if all(map(meets_bar, runs.values())) else 1


def table(name: str, run: Run) -> Iterator[str]:
    """Errors by kind of memory and in all, transfers and pipelines, as Markdown."""
    transfers = held_out(run)
    pipelines: dict[str, list[Pair]] = {}
    for memory, pair in pipeline_checks(run):
        pipelines.setdefault(memory, []).append(pair)
    yield f"## {name}"
    yield ""
    yield "| | checked | median error, % | 95th percentile, % | inside, % | noise, % |"
    yield "|---|---:|---:|---:|---:|---:|"
    for kind, pairs in transfers.items():
        yield row(kind, pairs)
    yield row("all transfers", [pair for pairs in transfers.values() for pair in pairs])
    for kind, pairs in pipelines.items():
        yield row(f"pipelines, {kind}", pairs)
    yield ""


def held_out(run: Run) -> dict[str, list[Pair]]:
    """Sizes from 4 KiB on, each predicted as if it was not measured, by kind of memory in the order of reports.

    The gap is then twice as wide as those in use.
    """
    kinds: dict[str, list[Pair]] = {}
    for curve, predictor, places in checked_curves(run):
        for at in places:
            size, measured = curve.points[at].bytes, curve.points[at].seconds
            predicted = predictor.without(at).at(size).seconds
            kinds.setdefault(curve.host_memory, []).append((measured, predicted))
    return dict(sorted(kinds.items(), key=lambda pair: kind_rank(pair[0])))


def row(name: str, pairs: Sequence[Pair]) -> str:
    """Figures of one line."""
    if not pairs:
        return f"| {name} | 0 | | | | |"
    median, high = errors(pairs)
    inside = sum(predicted.low <= measured.median <= predicted.high for measured, predicted in pairs)
    noise = sum(measured.low <= predicted.median <= measured.high for measured, predicted in pairs)
    shares = (f"{100 * count / len(pairs):.0f}" for count in (inside, noise))
    return f"| {name} | {len(pairs)} | {median:.1f} | {high:.1f} | {' | '.join(shares)} |"


def errors(pairs: Sequence[Pair]) -> tuple[float, float]:
    """Median and 95th percentile in percent of what was measured."""
    found = [100 * abs(predicted.median / measured.median - 1) for measured, predicted in pairs]
    median, high = np.quantile(found, [0.5, 0.95])
    return float(median), float(high)


def meets_bar(run: Run) -> bool:
    """Whether the transfers of a run are predicted well enough; true of a run without any."""
    pairs = [pair for pairs in held_out(run).values() for pair in pairs]
    if not pairs:
        return True
    median, high = errors(pairs)
    return median <= MEDIAN_BAR and high <= HIGH_BAR


def pipeline_checks(run: Run) -> Iterator[tuple[str, Pair]]:
    """Every pipeline of several chunks whose copies and work were also measured alone, with its memory."""
    for overlap in overlaps(run):
        model, work = pipeline_model(run, overlap.host_memory), overlap.alone.get("work")
        if model is None or work is None:
            continue
        for point in overlap.points.values():
            if point.chunks > 1:
                predicted = model.at(overlap.bytes, work.median, point.chunks, point.streams).seconds
                yield overlap.host_memory, (point.seconds, predicted)


if __name__ == "__main__":
    sys.exit(main())
