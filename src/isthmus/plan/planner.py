"""From a need to its plan: each kind of need has a module of its own."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from isthmus.plan.answer import Plan
from isthmus.plan.buffers import buffer_ways
from isthmus.plan.managed import managed_ways
from isthmus.plan.neighbours import beside
from isthmus.plan.pieces import pieces_ways
from isthmus.plan.pipelines import pipeline_ways
from isthmus.plan.sections import section_ways
from isthmus.record import BufferNeed, Device, Interval, ManagedNeed, Need, PiecesNeed, PipelineNeed, Run, SectionNeed

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
