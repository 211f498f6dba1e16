"""The plan of methods that were timed at once: nothing is predicted, but for data that was too large to be measured."""

from collections.abc import Mapping
from statistics import median

from isthmus.analysis.statistics.resample import resampled_medians
from isthmus.language import say
from isthmus.plan.answer import Method, Plan, by_time
from isthmus.plan.planner import on_device
from isthmus.record import Case, Device, Need, Timed, median_interval

# Methods whose medians are as near as this are level: the plainest leads.
_LEVEL = 1.02


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
