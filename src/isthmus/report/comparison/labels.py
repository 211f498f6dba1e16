"""Names of cases and groups of a comparison, and how its ratios are written."""

import math

from isthmus.analysis.labels import kind_label
from isthmus.compare import PARAMETERS, CaseResult, GroupKey, Verdict
from isthmus.language import say
from isthmus.record import Case, Interval, format_bytes

# Said in front, so that they need no name beside their value.
_PLAIN = {"experiment", "method", "direction", "host_memory", "bytes"}


def case_name(case: Case) -> str:
    """``bandwidth copy H2D pinned 64 MiB``, and other parameters by the names that they have in the CSV table."""
    words = [case.experiment, case.method, _way(case.direction or ""), kind_label(case.host_memory)]
    words += [format_bytes(case.bytes)] if case.bytes else []
    words += [
        f"{name}={value}"
        for name in PARAMETERS
        if name not in _PLAIN and (value := getattr(case, name)) not in (None, "")
    ]
    return " ".join(filter(None, words))


def group_name(key: GroupKey) -> str:
    """``bandwidth copy H2D pinned, from 4 MiB``."""
    words = [key.experiment, key.method, _way(key.direction), kind_label(key.host_memory)]
    return say("common.comma").join([" ".join(filter(None, words)), size_name(key.size)])


def way_memory_name(key: GroupKey) -> str:
    """``copy H2D pinned``: a group where experiment and sizes go without saying."""
    return " ".join(filter(None, (key.method, _way(key.direction), kind_label(key.host_memory))))


def size_name(size: str) -> str:
    """A class of sizes in words."""
    return say(f"compare.size_{size}")


def verdict_name(verdict: Verdict) -> str:
    """A verdict in a table."""
    return say(f"compare.verdict_{verdict}")


def ratio_text(value: float) -> str:
    """Three digits after the point near 1, where they matter, fewer farther away."""
    return f"{value:.3f}" if 0.5 <= value < 2 else f"{value:.3g}"


def interval_text(interval: Interval) -> str:
    """``0.99 to 1.05``."""
    return say("common.range", low=ratio_text(interval.low), high=ratio_text(interval.high))


def detectable_text(share: float) -> str:
    """``5.2 %``: how much more time would have shown; a dash where none would."""
    if math.isinf(share):
        return "–"  # A dash, as in tables of figures.
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def change_text(result: CaseResult) -> str:
    """A case with its ratio: what a gate names."""
    return say("compare.gate_case", name=case_name(result.pair.base), factor=ratio_text(result.ratio.median))


def _way(direction: str) -> str:
    return direction.upper() if direction in ("h2d", "d2h") else direction
