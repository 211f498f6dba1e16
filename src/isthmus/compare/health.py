"""Whether a device's link is all right, from one run: what is a fault, what costs the user, and what to do about it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from isthmus.analysis.machine import links_of, replays_of
from isthmus.analysis.phrases import memory_label
from isthmus.analysis.quality import wrong_data
from isthmus.compare.links import likely_links, link_findings, logged_findings, mended
from isthmus.compare.normal import Normal, kind_of, link_for, rules, usual_share
from isthmus.compare.rates import DIRECTIONS, Rate, pinned_rates, rates_of, size_of
from isthmus.compare.reference import Reference, reference_for
from isthmus.document.finding import TROUBLES, Finding, Level, gravest_first, gravity, level_word
from isthmus.language import say
from isthmus.record import Run, format_rate, format_seconds


@dataclass(frozen=True)
class Health:
    """The verdict on a device: the level of its worst point, the points from bad to good, and the rates."""

    level: Level
    points: tuple[Finding, ...]
    rates: tuple[Rate, ...]

    @property
    def mark(self) -> str:
        """The first word of a verdict."""
        return level_word(self.level)

    @property
    def troubles(self) -> tuple[Finding, ...]:
        """The points that are not about what is right, or cannot be judged."""
        return tuple(point for point in self.points if point.level in TROUBLES)


def judge(run: Run, reference: Reference | None = None, alike: Sequence[Run] = ()) -> Health:
    """Judge the device of a run by its link, its rates and what is normal for such devices.

    `alike` are runs of all devices of its kind in its machine.
    """
    rates = tuple(rates_of(run, reference, [pinned_rates(each) for each in alike]))
    points = gravest_first(_points(run, reference, rates))
    return Health(points[0].level, tuple(points), rates)


def judge_together(runs: Sequence[Run], named: Reference | None = None) -> list[tuple[Run, Health, str]]:
    """The verdict on each of some devices of one machine, with the name of the reference if there is one."""
    judged = []
    for run in runs:
        device = run.fingerprint.device
        reference = named or reference_for(device)
        alike = [each for each in runs if each.fingerprint.device.name == device.name]
        judged.append((run, judge(run, reference, alike), reference.name if reference else ""))
    return judged


def judge_all(runs: Sequence[Run], reference: Reference | None = None) -> tuple[Run, Health]:
    """The worst of some runs of one device, one after the other, and the verdict on all of them.

    A link that is worse in some of them than in others is one that flaps.
    """
    verdicts = [judge(run, reference) for run in runs]
    worst = min(range(len(runs)), key=lambda at: gravity(verdicts[at].level))
    health = verdicts[worst]
    as_bad = sum(each.level == health.level for each in verdicts)
    if as_bad < len(runs) and health.level in TROUBLES:
        seconds = sum(run.end.seconds for run in runs if run.end)
        values = {"count": as_bad, "all": len(runs), "time": format_seconds(seconds)}
        first = health.points[0]
        points = (replace(first, text=say("health.flapped", text=first.text, **values)), *health.points[1:])
        health = replace(health, points=points)
    return runs[worst], health


def _alone(rates: Sequence[Rate]) -> list[Rate]:
    """Those of pinned memory in one direction at a time."""
    return [rate for rate in rates if rate.memory == "pinned" and rate.direction != "both"]


def _points(run: Run, reference: Reference | None, rates: tuple[Rate, ...]) -> Iterator[Finding]:
    yield from wrong_data(run)
    device, pinned = run.fingerprint.device, _alone(rates)
    if not device.crosses_link:
        yield Finding("none", "no_link", say("health.no_link"))
        return
    if reference and (other := reference.run.fingerprint.device.name) != device.name:
        yield Finding(
            "ATTENTION",
            "other_device",
            say("compare.other_device", name=reference.name, expected=other, device=device.name),
        )
    busy = _busy(pinned)
    if busy:
        yield Finding("ATTENTION", "busy", say("health.busy", percent=100 * busy), do=(say("health.busy_do"),))
    fastest = max((rate.rate for rate in pinned), default=0.0)
    typical = max((rate.normal.typical for rate in pinned if rate.normal), default=None)
    link = list(link_findings(run, fastest, typical))
    yield from link
    yield from logged_findings(run)
    yield from _replays(run)
    yield from _surroundings(run)
    if not pinned and not link:
        yield Finding("none", "nothing_pinned", say("health.nothing_pinned"))
    elif pinned and not any(point.level == "FAULT" for point in link):
        yield from _rate_findings(run, reference, rates, busy=bool(busy))


def _replays(run: Run) -> Iterator[Finding]:
    if (count := replays_of(run) or 0) > 0:
        yield Finding("ATTENTION", "replays", say("health.replays", count=count), do=mended(run))
    elif (before := max((link.replays or 0 for link in links_of(run)), default=0)) >= rules().many_replays:
        yield Finding("note", "replays_before", say("health.replays_before", count=f"{before:,}"))


def _surroundings(run: Run) -> Iterator[Finding]:
    placement = run.end.placement if run.end else None
    near = run.fingerprint.device.numa_node
    if placement and placement.bound_node is not None and near is not None and placement.bound_node != near:
        yield Finding(
            "ATTENTION",
            "far_node",
            say("health.far_node", bound=placement.bound_node, near=near),
            do=(say("compare_causes.why_placement"),),
        )
    if run.fingerprint.device.is_confidential:
        yield Finding("ATTENTION", "confidential", say("health.confidential"))


def _rate_findings(run: Run, reference: Reference | None, rates: tuple[Rate, ...], *, busy: bool) -> Iterator[Finding]:
    slow = {rate: finding for rate in rates if (finding := _slow(run, rate, busy=busy))}
    yield from slow.values()
    if not any(rate.memory == "pinned" for rate in slow):
        yield from _both(run, rates, busy=busy)
        yield _summary(run, reference, rates)


def _slow(run: Run, rate: Rate, *, busy: bool) -> Finding | None:
    """What is wrong with a rate in one direction: a fault only where two classes of evidence agree."""
    if not rate.normals or rate.direction == "both":
        return None
    first = rate.normals[0]
    # A busy machine, of which another finding speaks, must not hide a slow link.
    noise = min(rate.noise, rules().busy_width) if rate.memory == "pinned" else rate.noise
    if rate.rate * (1 + noise) >= first.low:
        return None
    faulty = rate.memory == "pinned" and not busy and _is_fault(rate.rate, rate.normals)
    text = _beside(run, rate, first.low)
    if first.basis == "theory":
        text = _below_theory(run, rate)
    elif first.basis == "card":
        text = say("health.below_card", direction=rate.direction.upper(), **_rates_named(rate.rate, first.low))
    cause = likely_links(run, rate.rate) if rate.memory == "pinned" else ""
    return Finding("FAULT" if faulty else "ATTENTION", "rate", text, cause, _causes(run, rate.memory))


def _rates_named(rate: float, low: float) -> dict[str, str]:
    return {"rate": format_rate(rate), "low": format_rate(low)}


def _is_fault(rate: float, normals: Sequence[Normal]) -> bool:
    return rate < rules().faulty_ratio * normals[0].low and sum(rate < each.low for each in normals) > 1


def _both(run: Run, rates: Sequence[Rate], *, busy: bool) -> Iterator[Finding]:
    """Both directions at once: no link carries less of both than of one; how much more depends on the platform."""
    pinned = {rate.direction: rate for rate in rates if rate.memory == "pinned"}
    alone = max((pinned[each].rate for each in DIRECTIONS if each in pinned), default=0.0)
    kind = kind_of(run.fingerprint.device.name)
    if "both" not in pinned or not alone or (kind and kind.bus != "pcie"):
        return
    both = pinned["both"]
    normals = (*both.normals, Normal("theory", alone))
    # References are of few platforms, by which this differs more than by card.
    least = normals[0].low * (rules().faulty_ratio if normals[0].basis == "measured" else 1.0)
    if both.rate * (1 + min(both.noise, rules().busy_width)) >= least:
        return
    values = {"alone": format_rate(alone), **_rates_named(both.rate, normals[0].low)}
    level: Level = "FAULT" if not busy and _is_fault(both.rate, normals) else "ATTENTION"
    yield Finding(level, "both", say("health.both_slow", **values), do=(say("health.both_slow_do"),))


def _beside(run: Run, rate: Rate, low: float) -> str:
    """A rate with the least that is normal."""
    return say(
        "health.slow",
        memory=memory_label(rate.memory).capitalize(),
        direction=rate.direction.upper(),
        size=size_of(run, rate),
        rate=format_rate(rate.rate),
        low=format_rate(low),
    )


def _below_theory(run: Run, rate: Rate) -> str:
    share, usual = _shares(run, rate)
    return say(
        "health.below_theory",
        direction=rate.direction.upper(),
        size=size_of(run, rate),
        rate=format_rate(rate.rate),
        percent=100 * share,
        usual=100 * usual,
    )


def _shares(run: Run, rate: Rate) -> tuple[float, float]:
    """The share of the link that a rate is, and the least that is usual; 0 where no link is known."""
    link = link_for(run.fingerprint.device, links_of(run))
    carries = link.theoretical_bytes_per_second if link else None
    method = pinned_rates(run)[rate.direction].method
    return (rate.rate / carries, usual_share(run.fingerprint.device, link, method)) if link and carries else (0.0, 0.0)


def _causes(run: Run, memory: str) -> tuple[str, ...]:
    """What to look at, in the order of likelihood for what this run's fingerprint shows."""
    if memory != "pinned":
        return (say("health.slow_pageable_do"),)
    causes = []
    reasons = run.fingerprint.device.conditions.get("throttling", "none")
    if reasons not in ("none", ""):
        causes.append(say("health.throttled_do", reasons=reasons))
    if run.fingerprint.host.iommu == "on, translated":
        causes.append(say("compare_causes.why_iommu"))
    return (*causes, say("health.slow_pinned_do"))


def _summary(run: Run, reference: Reference | None, rates: tuple[Rate, ...]) -> Finding:
    """What is right, or that nothing is known that could tell."""
    best = max(_alone(rates), key=lambda each: each.rate)
    share, usual = _shares(run, best)
    values = {"rate": format_rate(best.rate), "percent": 100 * share}
    if not best.normals:
        return Finding("none", "rate", say("health.link_unread", **values), do=(say("health.link_unread_do"),))
    first = best.normals[0]
    if first.basis == "card":
        return Finding("OK", "rate", say("health.ok_card", **_rates_named(best.rate, first.low)))
    if first.basis == "theory":
        name = run.fingerprint.device.name
        return Finding("OK", "rate", say("health.ok_theory", device=name, usual=100 * usual, **values))
    if not share:
        return Finding("OK", "rate", _beside(run, best, first.low))
    name = reference.run.fingerprint.device.name if reference else run.fingerprint.device.name
    return Finding("OK", "rate", say("health.ok", device=name, low=format_rate(first.low), **values))


def _busy(rates: Sequence[Rate]) -> float:
    """Half width of the widest interval of large pinned copies, if it says that the machine was busy; else 0."""
    widest = max((rate.noise for rate in rates if rate.memory == "pinned" and rate.bytes >= 1 << 26), default=0.0)
    return widest if widest > rules().busy_width else 0.0
