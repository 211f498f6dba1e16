"""Whether a device's link is all right, from one run: what is a fault, what costs the user, and what to do about it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from isthmus.analysis.figures import figures
from isthmus.analysis.machine import link_name, links_of, replays_of
from isthmus.analysis.phrases import memory_label
from isthmus.analysis.quality import wrong_data
from isthmus.analysis.statistics.curve import host_curves
from isthmus.analysis.statistics.shape import compared_bytes, compared_point
from isthmus.compare.reference import Expected, Reference
from isthmus.compare.spread import GroupKey
from isthmus.document.finding import TROUBLES, Finding, Level, gravest_first, gravity, level_word
from isthmus.language import say
from isthmus.record import Direction, Link, Run, format_bytes, format_rate, format_seconds

DIRECTIONS: tuple[Direction, ...] = ("h2d", "d2h")
# Pinned memory, while all devices of the machine copy.
AT_ONCE = "pinned_at_once"
# The shares of the wire's rate that pinned copies reach at least on every healthy link (79 % of PCIe 3.0, 88 % of 5.0),
# and that only a fault makes them miss.
_USUAL_SHARE, _FAULTY_SHARE = 0.75, 0.5
# The share of a reference's lower end below which a busy machine is no explanation.
_FAULTY_RATIO = 0.85
# Relative half width of the median of large pinned copies; on a quiet machine it is a tenth of this.
_BUSY_WIDTH = 0.05
# Cards that are soldered or screwed to a board and have no slot; an H200 NVL or an H100 PCIe has one.
_MODULE = re.compile(r"SXM|HBM3$|\b[BG]B?[23]00\b|\bGH200\b|\bH200$")
# Since the driver was loaded: a link that is well has a few in months.
_MANY_REPLAYS = 1000
# A rate above what a link could carry says that the link was not read rightly.
_ABOVE = 1.02


@dataclass(frozen=True)
class Rate:
    """Bytes per second of copies of `bytes`, and the range of a reference at that size, where it has one.

    `noise` is the relative half width of the rate's interval.
    """

    memory: str
    direction: Direction
    bytes: int
    rate: float
    noise: float
    normal: Expected | None


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


def judge(run: Run, reference: Reference | None = None) -> Health:
    """Judge the device of a run by its link, its rates and, where there is one, a reference for such devices."""
    rates = tuple(_rates(run, reference))
    points = gravest_first(_points(run, reference, rates))
    return Health(points[0].level, tuple(points), rates)


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


def _rates(run: Run, reference: Reference | None) -> Iterator[Rate]:
    curves = host_curves(run)
    size = compared_bytes(curves) if curves else 0
    # By the driver, and at last by the library, as curves name it.
    for memory, method in (("pinned", "copy"), ("pageable", "copy"), ("pageable_isthmus", "isthmus")):
        for direction in DIRECTIONS:
            kind = method, direction, memory
            for curve in [each for each in curves if (each.method, each.direction, each.host_memory) == kind][:1]:
                point = compared_point(curve, size)
                normal = reference.rate_at(GroupKey("bandwidth", *kind, "large"), point.bytes) if reference else None
                noise = point.rate.relative_half_width
                yield Rate(memory, direction, point.bytes, point.rate.median, noise, normal)
    for figure in figures(run, "peers"):
        case, at_once = figure.case, figure.rate
        is_own = case.target == run.fingerprint.device.spec and (case.devices or 0) > 1 and not case.neighbour
        if case.method == "link" and is_own and at_once and case.direction in DIRECTIONS:
            yield Rate(AT_ONCE, case.direction, case.bytes, at_once.median, at_once.relative_half_width, None)


def _points(run: Run, reference: Reference | None, rates: tuple[Rate, ...]) -> Iterator[Finding]:
    yield from wrong_data(run)
    device, pinned = run.fingerprint.device, [rate for rate in rates if rate.memory == "pinned"]
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
    link = list(_link_findings(run, pinned))
    yield from link
    yield from _replays(run)
    yield from _surroundings(run)
    if not pinned:
        yield Finding("none", "nothing_pinned", say("health.nothing_pinned"))
    elif not any(point.level == "FAULT" for point in link):
        yield from _rate_findings(run, reference, rates, busy=bool(busy))


def _link_findings(run: Run, pinned: list[Rate]) -> Iterator[Finding]:
    links = links_of(run)
    fastest = max((rate.rate for rate in pinned), default=0.0)
    seen = {link.in_use for link in links if link.read_under_load}
    if len(seen) > 1:
        first, last = (link_name(*link.in_use) for link in (links[0], links[-1]))
        yield Finding("FAULT", "link", say("health.link_changed", before=first, after=last), do=_reseat(run))
        return
    for link in links[-1:]:
        if not link.read_under_load or not (link.is_slower or link.is_narrower):
            continue
        now, carries = link_name(*link.in_use), link.theoretical_bytes_per_second
        best = Link(generation=link.max_generation, width=link.max_width)
        if carries and fastest > _ABOVE * carries:
            yield Finding(
                "ATTENTION", "link_reading", say("health.link_unlike_rate", now=now, rate=format_rate(fastest))
            )
            continue
        yield Finding("FAULT", "link", _degraded(now, best, fastest, pinned), do=_reseat(run))


def _degraded(now: str, best: Link, fastest: float, pinned: list[Rate]) -> str:
    values = {"now": now, "best": link_name(best.generation, best.width)}
    normal = max((rate.normal.typical for rate in pinned if rate.normal), default=None)
    possible = normal or best.theoretical_bytes_per_second
    if not fastest or not possible:
        return say("health.link_degraded", **values)
    percent, full = 100 * fastest / possible, format_rate(possible)
    return say("health.link_degraded_rate", rate=format_rate(fastest), percent=percent, full=full, **values)


def _replays(run: Run) -> Iterator[Finding]:
    if (count := replays_of(run) or 0) > 0:
        yield Finding("ATTENTION", "replays", say("health.replays", count=count), do=_reseat(run))
    elif (before := max((link.replays or 0 for link in links_of(run)), default=0)) >= _MANY_REPLAYS:
        yield Finding("note", "replays_before", say("health.replays_before", count=f"{before:,}"))


def _reseat(run: Run) -> tuple[str, ...]:
    """What mends a link, by what the card is plugged into, and what a vendor asks for where that does not."""
    device = run.fingerprint.device
    mend = say("health.reseat_module" if _MODULE.search(device.name) else "health.reseat")
    if device.backend != "cuda":
        return (mend,)
    return mend, say("health.vendor_asks", uuid=device.uuid or "?", address=device.pci_address or "?")


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
    known = [rate for rate in rates if rate.normal]
    carries = max((link.theoretical_bytes_per_second or 0 for link in links_of(run)), default=0)
    slow = dict(_below_reference(run, known, busy=busy) if known else _below_theory(rates, carries, busy=busy))
    yield from slow.values()
    if not any(rate.memory == "pinned" for rate in slow):
        yield _summary(run, reference, rates, carries)


def _below_reference(run: Run, known: list[Rate], *, busy: bool) -> Iterator[tuple[Rate, Finding]]:
    for rate in known:
        normal = rate.normal
        # A busy machine, of which another finding speaks, must not hide a slow link.
        noise = min(rate.noise, _BUSY_WIDTH) if rate.memory == "pinned" else rate.noise
        if normal is None or rate.rate * (1 + noise) >= normal.low:
            continue
        faulty = rate.memory == "pinned" and not busy and rate.rate < _FAULTY_RATIO * normal.low
        yield (
            rate,
            Finding("FAULT" if faulty else "ATTENTION", "rate", _beside(rate, normal), do=_causes(run, rate.memory)),
        )


def _beside(rate: Rate, normal: Expected) -> str:
    """A rate with the least that is normal by the reference."""
    return say(
        "health.slow",
        memory=memory_label(rate.memory).capitalize(),
        direction=rate.direction.upper(),
        size=format_bytes(rate.bytes),
        rate=format_rate(rate.rate),
        low=format_rate(normal.low),
    )


def _below_theory(rates: tuple[Rate, ...], carries: float, *, busy: bool) -> Iterator[tuple[Rate, Finding]]:
    for rate in rates:
        share = rate.rate / carries if carries else 1.0
        if rate.memory == "pinned" and share < _USUAL_SHARE:
            faulty = share < _FAULTY_SHARE and not busy
            text = say(
                "health.below_theory",
                direction=rate.direction.upper(),
                size=format_bytes(rate.bytes),
                rate=format_rate(rate.rate),
                percent=100 * share,
                usual=100 * _USUAL_SHARE,
            )
            yield rate, Finding("FAULT" if faulty else "ATTENTION", "rate", text, do=(say("health.slow_pinned_do"),))


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


def _summary(run: Run, reference: Reference | None, rates: tuple[Rate, ...], carries: float) -> Finding:
    """What is right, or that nothing is known that could tell."""
    best = max((rate for rate in rates if rate.memory == "pinned"), key=lambda rate: rate.rate)
    values = {"rate": format_rate(best.rate), "percent": 100 * best.rate / carries if carries else 0.0}
    if best.normal and reference:
        if not carries:
            return Finding("OK", "rate", _beside(best, best.normal))
        low, name = format_rate(best.normal.low), reference.run.fingerprint.device.name
        return Finding("OK", "rate", say("health.ok", device=name, low=low, **values))
    if carries:
        return Finding("OK", "rate", say("health.ok_theory", device=run.fingerprint.device.name, **values))
    return Finding("none", "rate", say("health.link_unread", **values), do=(say("health.link_unread_do"),))


def _busy(rates: Sequence[Rate]) -> float:
    """Half width of the widest interval of large pinned copies, if it says that the machine was busy; else 0."""
    widest = max((rate.noise for rate in rates if rate.memory == "pinned" and rate.bytes >= 1 << 26), default=0.0)
    return widest if widest > _BUSY_WIDTH else 0.0
