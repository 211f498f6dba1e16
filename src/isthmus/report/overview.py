"""What one looks for first: for every curve of a run where it settles, its latency and how steady it is."""

from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.model import (
    Curve,
    about_bytes,
    bandwidth_curves,
    half_size,
    latency,
    link_rate,
    plateau,
    steadiness,
    trend,
)
from isthmus.record import Run, format_bytes, format_rate, format_seconds
from isthmus.report.grid import decimals
from isthmus.report.labels import DIRECTIONS, curve_name, kind_rank, run_label

__all__ = ["Line", "overview"]


@dataclass(frozen=True)
class Line:
    """One curve in words; empty where the run does not say."""

    run: str
    direction: str
    name: str
    kind: str
    settles: str
    interval: str
    share: str
    half: str
    latency: str
    spread: str


def overview(runs: Sequence[Run]) -> list[Line]:
    """A line for each curve: by direction, then memory kind, then run."""
    found = [
        (DIRECTIONS.index(curve.direction), kind_rank(curve.host_memory), index, curve)
        for index, run in enumerate(runs)
        for curve in bandwidth_curves(run)
        if curve.points and curve.metric == "host_seconds"
    ]
    found.sort(key=lambda each: each[:3])
    return [_line(runs[index], run_label(runs, index), curve) for _, _, index, curve in found]


_ENDS = {
    "rising": "still rising at {size}: {rate}",
    "unsettled": "does not settle; {rate} at {size}",
    "single": "{rate} at {size}",
}


def _line(run: Run, label: str, curve: Curve) -> Line:
    settled = plateau(curve)
    last = curve.points[-1]
    rate = settled.rate if settled else last.rate
    limit = link_rate(run, both=curve.direction == "both")
    half = half_size(curve)
    small, steady = latency(curve), steadiness(curve)
    return Line(
        run=label,
        direction={"both": "both, sum"}.get(curve.direction, curve.direction.upper()),
        name=curve_name(curve),
        kind=curve.host_memory,
        settles=f"{format_rate(rate.median)} from {format_bytes(settled.from_bytes)}"
        if settled
        else _ENDS[trend(curve)].format(rate=format_rate(rate.median), size=format_bytes(last.bytes)),
        interval=" to ".join(f"{end / 1e9:.{decimals(end / 1e9)}f}" for end in (rate.low, rate.high)),
        share=f"{100 * rate.median / limit:.0f} %" if limit else "",
        half=f"{'at most ' if half.at_most else ''}{about_bytes(half.bytes)}" if half else "",
        latency=format_seconds(small.median) if small else "",
        spread=f"{steady.spread:.2f}" if steady else "",
    )
