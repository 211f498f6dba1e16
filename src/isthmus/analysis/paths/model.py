"""The figures of copies over several links: rates by device, memory, direction, size and way; costs of neighbours."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from isthmus.analysis.statistics.contrast import MATTERS, ratio
from isthmus.analysis.statistics.once import once
from isthmus.record import Case, Interval, Run, median_interval

MEMORIES, DIRECTIONS = ("pinned", "pageable"), ("h2d", "d2h")
WORKS = ("copies_h2d", "copies_d2h", "compute")
# The links of one comparison: the own link alone, all; between them neighbours by their names.
OWN, ALL = "own", "all"


class Figure(NamedTuple):
    """One link: its rate in bytes/s, None where nothing was measured or arrived right, and each link's share of it."""

    rate: Interval | None
    shares: Mapping[str, float]
    wide: bool = False
    is_wrong: bool = False
    note: str = ""


class Compared(NamedTuple):
    """The links of copies of one size between one kind of memory and a device."""

    target: str
    memory: str
    direction: str
    bytes: int
    links: Mapping[str, Figure]

    @property
    def peers(self) -> list[str]:
        """The neighbours, in the order of their numbers."""
        return sorted((link for link in self.links if link not in (OWN, ALL)), key=lambda spec: (len(spec), spec))

    @property
    def best(self) -> str | None:
        """By all links, where that was measured, else by the neighbour that adds most; None where nothing was."""
        rated = {link: figure.rate.median for link, figure in self.links.items() if link != OWN and figure.rate}
        if ALL in rated:
            return ALL
        return max(rated, key=rated.__getitem__, default=None)

    def gain(self, link: str | None) -> Interval | None:
        """How many times as fast this link is as the own link alone; None where one of them is not known."""
        own, other = self.links.get(OWN), self.links.get(link or "")
        if own is None or other is None or own.rate is None or other.rate is None:
            return None
        return ratio(other.rate, own.rate)


class Cost(NamedTuple):
    """The work of a neighbour during copies over one link: by what part it got slower, and the rates of either.

    `loss` is of its rate: 0.1 for a tenth; `work_rate` that of its own copies alone, in bytes/s.
    """

    target: str
    peer: str
    work: str
    direction: str
    bytes: int
    method: str
    loss: Interval
    rate: Interval
    work_rate: Interval | None
    wide: bool

    @property
    def place(self) -> tuple[str, str, str, str, int]:
        """The same work during the same copies, whatever their direction."""
        return self.target, self.peer, self.work, self.direction, self.bytes


def _cases(run: Run) -> list[Case]:
    return [case for case in run.cases if case.experiment == "paths" and case.direction in DIRECTIONS]


@once()
def comparisons(run: Run) -> Sequence[Compared]:
    """By device, memory, direction and size, the largest last."""
    groups: dict[tuple[str, str, str, int], dict[str, Figure]] = {}
    for case in _cases(run):
        if not case.neighbour and case.host_memory in MEMORIES and case.target:
            key = (case.target, case.host_memory, str(case.direction), case.bytes)
            groups.setdefault(key, {})[case.peer or case.method] = _figure(run, case)
    all_compared = [Compared(*key, links) for key, links in groups.items()]
    places = {target: at for at, target in enumerate(dict.fromkeys(each.target for each in all_compared))}
    return sorted(
        all_compared,
        key=lambda each: (
            places[each.target],
            MEMORIES.index(each.memory),
            DIRECTIONS.index(each.direction),
            each.bytes,
        ),
    )


def largest(run: Run, target: str, memory: str, direction: str) -> Compared | None:
    """The comparison of the largest copies of which two links were measured."""
    candidates = [
        each for each in comparisons(run) if (each.target, each.memory, each.direction) == (target, memory, direction)
    ]
    return next((each for each in reversed(candidates) if each.gain(each.best)), None)


def targets(run: Run) -> list[str]:
    """The devices of which two links were measured, the run's own first."""
    return list(dict.fromkeys(each.target for each in comparisons(run) if each.gain(each.best)))


def gains_from(run: Run, of: Compared) -> int | None:
    """The smallest size measured from which on copies like these gain surely, and more than a little; None for none."""
    start = None
    alike = [
        each
        for each in comparisons(run)
        if (each.target, each.memory, each.direction) == (of.target, of.memory, of.direction)
    ]
    for each in reversed(alike):
        gain = each.gain(each.best)
        if gain is None or gain.median < MATTERS or gain.low <= 1:
            break
        start = each.bytes
    return start


def _figure(run: Run, case: Case) -> Figure:
    samples = case.samples("host_seconds")
    if case.skipped or not samples or min(samples) <= 0 or case.verified == "no":
        return Figure(None, {}, is_wrong=case.verified == "no" and not case.skipped, note=case.note)
    seconds = median_interval(samples)
    total = sum(case.carried.values())
    shares = {spec: taken / total for spec, taken in case.carried.items()} if total else {}
    wide = seconds.relative_half_width > run.settings.target_relative_half_width
    return Figure(_rate(case.bytes, seconds), shares, wide, note=case.note)


@once()
def costs(run: Run) -> Sequence[Cost]:
    """In the order of the table; without those whose data was wrong."""
    known = (case for case in _cases(run) if case.neighbour in WORKS and case.peer)
    all_costs = [cost for case in known if (cost := _cost(run, case))]
    return sorted(all_costs, key=_order)


def _order(cost: Cost) -> tuple[object, ...]:
    devices = [(len(spec), spec) for spec in (cost.target, cost.peer)]
    return (*devices, cost.bytes, WORKS.index(cost.work), DIRECTIONS.index(cost.direction), cost.method != OWN)


def _cost(run: Run, case: Case) -> Cost | None:
    alone, during, copies = (case.samples(name) for name in ("alone_seconds", "beside_seconds", "host_seconds"))
    if case.verified == "no" or not len(alone) == len(during) == len(copies) > 0:
        return None
    if min(alone) <= 0 or min(during) <= 0 or min(copies) <= 0:
        return None
    # Each sample by itself: a device that changes its clock does so for both.
    kept = median_interval([without / with_copies for with_copies, without in zip(during, alone, strict=True)])
    return Cost(
        target=case.target,
        peer=case.peer,
        work=case.neighbour,
        direction=str(case.direction),
        bytes=case.bytes,
        method=case.method,
        loss=Interval(1 - kept.median, 1 - kept.high, 1 - kept.low),
        rate=_rate(case.bytes, median_interval(copies)),
        work_rate=_rate(case.bytes, median_interval(alone)) if case.neighbour != "compute" else None,
        wide=kept.relative_half_width > run.settings.target_relative_half_width,
    )


def _rate(size: int, seconds: Interval) -> Interval:
    return Interval(size / seconds.median, size / seconds.high, size / seconds.low)
