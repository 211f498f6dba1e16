"""What pointing at a measured point shows, in charts as names and values and in tables as one text."""

from collections.abc import Mapping

from isthmus.analysis.statistics.curve import Point
from isthmus.language import say
from isthmus.record import format_rate, format_seconds


def told(point: Point) -> dict[str, str]:
    """Rate, interval and time of a point, and what stands behind them, by the names that a reader sees."""
    low, high = format_rate(point.rate.low), format_rate(point.rate.high)
    return {
        say("labels.told_rate"): format_rate(point.rate.median),
        say("labels.told_interval"): say("common.range", low=low, high=high),
        say("labels.told_time"): format_seconds(point.seconds.median),
        **samples_of(point),
    }


def samples_of(point: Point) -> dict[str, str]:
    """How many samples a point has, and whether its data was checked."""
    return {
        say("labels.told_samples"): str(len(point.samples)),
        say("labels.told_verified"): say(f"labels.verified_{point.verified}"),
    }


def in_one_text(named: Mapping[str, str]) -> str:
    """``rate 1.57 GB/s, samples 30``."""
    return say("common.comma").join(say("labels.told", name=name, value=value) for name, value in named.items())
