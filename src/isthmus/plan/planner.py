"""From a need to its plan, predicted or timed, and what it costs the neighbours: each kind of need has its module."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import median
from typing import Any

from isthmus.analysis.interference import NEIGHBOURS, Cost, costs, largest, telling
from isthmus.analysis.statistics.resample import resampled_medians
from isthmus.language import say
from isthmus.plan.answer import Method, Plan, by_time
from isthmus.plan.buffers import buffer_ways, pipeline_ways
from isthmus.plan.managed import managed_ways
from isthmus.plan.surfaces import pieces_ways, section_ways
from isthmus.record import (
    BufferNeed,
    Case,
    Device,
    Interval,
    ManagedNeed,
    Need,
    PiecesNeed,
    PipelineNeed,
    Run,
    SectionNeed,
    Timed,
    median_interval,
)

# Each takes the kind of need that it is for, which a type cannot say of a table.
_PLANNERS: dict[type, Callable[[Run, Any], Plan]] = {
    BufferNeed: buffer_ways,
    ManagedNeed: managed_ways,
    PiecesNeed: pieces_ways,
    PipelineNeed: pipeline_ways,
    SectionNeed: section_ways,
}

# By what logarithm times lie around their predictions from a run of the same machine, apart from what its samples say,
# in 95 of 100 cases: from 217 methods of 48 needs on an H200, and 15 on an H100 (benchmarks/plan_check.py).
_MODEL_ERROR = 0.4
# Methods by what of them goes on concurrently: a kernel over the link, threads that pack, the driver's copy of memory
# that it stages by itself. All others are copies of memory that the device reaches by its copy engines.
_KERNELS = {"kernel", "pack_kernel", "mapped"}
_THREADS = {"isthmus", "pack", "pack_threads", "staging"}
# Methods whose medians are as near as this are level: the plainest leads.
_LEVEL = 1.02


def answer(run: Run, need: Need) -> Plan:
    """The methods to meet a need on the machine of a run, the fastest first, with expected times.

    Data that did not arrive as it was sent counts for nothing. Raises UsageError for a need that contradicts itself.
    """
    device = run.fingerprint.device
    wrong = sum(case.verified == "no" for case in run.cases)
    plan = _PLANNERS[type(need)](run, need)
    methods = tuple(replace(method, seconds=_predicted(method.seconds)) for method in plan.methods)
    costs = beside(run, need, methods[0].name) if methods else {}
    return on_device(replace(plan, methods=methods, run=run.run, wrong=wrong, beside=costs), device)


def _predicted(seconds: Interval) -> Interval:
    """The time with an interval for what the model leaves out, too: caches, placement, what else the machine does."""
    if seconds.low <= 0:
        return seconds
    below, above = (math.hypot(math.log(end / seconds.median), _MODEL_ERROR) for end in (seconds.low, seconds.high))
    return Interval(seconds.median, seconds.median * math.exp(-below), seconds.median * math.exp(above))


def on_device(plan: Plan, device: Device) -> Plan:
    """The plan with its device, and whether that holds what is needed."""
    exceeded = device.memory_bytes if 0 < device.memory_bytes < plan.need.device_bytes else 0
    return replace(plan, device=device, exceeded_bytes=exceeded)


def beside(run: Run, need: Need, method: str) -> Mapping[str, float]:
    """By neighbour the share by which its work takes longer: the greater of both directions' where data goes in both
    directions.

    Empty where the run has nothing of it, and for needs that compute themselves or move pages.
    """
    if not isinstance(need, BufferNeed | PiecesNeed | SectionNeed):
        return {}
    factors: dict[str, float] = {}
    for neighbour in NEIGHBOURS:
        for direction in ("h2d", "d2h") if need.direction == "both" else (need.direction,):
            shown = [each for each in largest(costs(run)) if (each.neighbour, each.direction) == (neighbour, direction)]
            # The kernel with the fewest blocks that fill the link, as sessions take it.
            if cost := next((each for each in telling(shown) if _is_such(each, method)), None):
                factors[neighbour] = max(factors.get(neighbour, cost.slowdown.median), cost.slowdown.median)
    return factors


def _is_such(cost: Cost, method: str) -> bool:
    if method in _KERNELS:
        return cost.method == "kernel"
    if method in _THREADS:
        return cost.method == "isthmus"
    return cost.method == "copy" and cost.memory == ("pageable" if method == "pageable" else "pinned")


def measured_plan(need: Need, timed: Timed, device: Device) -> Plan:
    """The methods that were timed, the fastest first; those that cannot be had, and those not reached in time."""
    scale = need.amount / timed.need.amount
    fastest: dict[str, Case] = {}
    unknown: dict[str, str] = {}
    unpriced: dict[str, str] = {}
    for case in timed.cases:
        samples, name = case.samples("host_seconds"), case.method
        if case.verified == "no":
            unknown[name] = say("labels.wrong_data")
        elif case.skipped:
            unknown.setdefault(name, case.note)
        elif not samples:
            unpriced[name] = say("plan.no_time")
        elif name not in fastest or median(samples) < median(fastest[name].samples("host_seconds")):
            # Numbers of chunks are one method, whose best counts.
            fastest[name] = case
    methods = by_time((_way(case, scale) for case in fastest.values()), _LEVEL)
    unknown = {name: reason for name, reason in unknown.items() if name not in fastest}
    wrong = sum(case.verified == "no" for case in timed.cases)
    return on_device(Plan(need, methods, unknown, unpriced, timed=timed, scale=scale, wrong=wrong), device)


def _way(case: Case, scale: float) -> Method:
    samples = case.samples("host_seconds")
    draws = resampled_medians([samples])[0] * scale
    seconds = median_interval(samples).scaled(scale)
    return Method(case.method, seconds, options=_options(case), draws=draws, samples=len(samples))


def _options(case: Case) -> Mapping[str, int]:
    if case.streams:
        return {"chunks": case.pieces or 1, "streams": case.streams}
    return {"threads": case.threads} if case.threads and case.threads > 1 else {}
