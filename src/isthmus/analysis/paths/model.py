"""The figures of copies over several links: rates by device, memory, direction, size and way; costs of neighbours."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from isthmus.analysis.figures import Figure, figures, paired
from isthmus.analysis.phrases import direction_word
from isthmus.analysis.statistics.contrast import MATTERS, ratio
from isthmus.analysis.statistics.curve import rate_of
from isthmus.analysis.statistics.once import once
from isthmus.language import say
from isthmus.record import Case, Interval, Run, format_rate, median_interval

MEMORIES, DIRECTIONS = ("pinned", "pageable"), ("h2d", "d2h")
WORKS = ("copies_h2d", "copies_d2h", "compute")
# The links of one comparison: the own link alone, all; between them neighbours by their names.
OWN, ALL = "own", "all"
# Devices by their own links at once.
_LINK = "link"


class Compared(NamedTuple):
    """The links of copies of one size between one kind of memory and a device."""

    target: str
    memory: str
    direction: str
    bytes: int
    links: Mapping[str, Figure]

    @property
    def peers(self) -> list[str]:
        """The neighbours by whose links copies went, one by one or all together, in the order of their numbers."""
        names = {*self.links, *(spec for figure in self.links.values() for spec in figure.case.carried)}
        return sorted(names - {OWN, ALL, self.target}, key=lambda spec: (len(spec), spec))

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


@once()
def comparisons(run: Run) -> Sequence[Compared]:
    """By device, memory, direction and size, the largest last."""
    groups: dict[tuple[str, str, str, int], dict[str, Figure]] = {}
    for figure in figures(run, "paths"):
        case = figure.case
        is_compared = case.host_memory in MEMORIES and case.target and not case.neighbour and case.method != _LINK
        if case.direction in DIRECTIONS and is_compared:
            key = (case.target, case.host_memory, str(case.direction), case.bytes)
            groups.setdefault(key, {})[case.peer or case.method] = figure
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


class Ceiling(NamedTuple):
    """All devices by their own links at once, in bytes/s, and what part that is of their links' rates one by one."""

    direction: str
    devices: int
    figure: Figure
    rate: Interval
    share: float | None


def ceilings(run: Run) -> list[Ceiling]:
    """One for each direction in which it was measured."""
    at_once = [each for each in figures(run, "paths") if each.case.method == _LINK and not each.case.target]
    return [
        Ceiling(direction, each.case.devices or 0, each, rate, _share(run, each.case, rate))
        for direction in DIRECTIONS
        for each in at_once
        if each.case.direction == direction and (rate := each.rate)
    ]


def _share(run: Run, at_once: Case, rate: Interval) -> float | None:
    alone = {
        each.target: own.rate.median
        for each in comparisons(run)
        if (each.memory, each.direction) == ("pinned", at_once.direction) and (own := each.links.get(OWN)) and own.rate
    }
    return rate.median / sum(alone.values()) if alone and len(alone) == at_once.devices else None


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


@once()
def costs(run: Run) -> Sequence[Cost]:
    """In the order of the table; without those whose data was wrong."""
    all_costs = [cost for figure in figures(run, "paths") if (cost := _cost(run, figure))]
    return sorted(all_costs, key=_order)


def _order(cost: Cost) -> tuple[object, ...]:
    devices = [(len(spec), spec) for spec in (cost.target, cost.peer)]
    return (*devices, cost.bytes, WORKS.index(cost.work), DIRECTIONS.index(cost.direction), cost.method != OWN)


def _cost(run: Run, figure: Figure) -> Cost | None:
    case, kept = figure.case, paired(figure.case, "alone_seconds", "beside_seconds")
    known = case.direction in DIRECTIONS and case.neighbour in WORKS and case.peer
    if not known or kept is None or figure.rate is None:
        return None
    alone = median_interval(case.samples("alone_seconds"))
    return Cost(
        target=case.target,
        peer=case.peer,
        work=case.neighbour,
        direction=str(case.direction),
        bytes=case.bytes,
        method=case.method,
        loss=Interval(1 - kept.median, 1 - kept.high, 1 - kept.low),
        rate=figure.rate,
        work_rate=None if case.neighbour == "compute" else rate_of(case.bytes, alone),
        wide=kept.relative_half_width > run.settings.target_relative_half_width,
    )


def links_words(compared: Compared, link: str) -> str:
    """``cuda:1's link``, ``the links of its 7 neighbours``."""
    return say("paths.links_all", count=len(compared.peers)) if link == ALL else say("paths.links_one", peer=link)


def way_heading(link: str, peers: int) -> str:
    """``own link``, ``with cuda:1``, ``with all 7``: a column of a table."""
    if link == OWN:
        return say("paths_report.own")
    return say("paths_report.with_all", count=peers) if link == ALL else say("paths_report.with", peer=link)


def gain_words(compared: Compared) -> str:
    """``H2D 105 GB/s, 1.92 times its own link's 54.8 GB/s (split 51/49)``; empty where unknown."""
    best, gain, own = compared.best, compared.gain(compared.best), compared.links.get(OWN)
    rate = compared.links[best].rate if best else None
    if gain is None or own is None or own.rate is None or rate is None:
        return ""
    # The table has the names of many links.
    split = split_words(compared) if len(compared.peers) == 1 else ""
    return say(
        "paths.gain" if split else "paths.gain_unsplit",
        direction=direction_word(compared.direction),
        rate=format_rate(rate.median),
        factor=factor_words(gain.median),
        own=format_rate(own.rate.median),
        split=split,
    )


def split_words(compared: Compared) -> str:
    """``51/49``: per cent of the own link and of the neighbours', in their order; empty where nothing was divided."""
    figure = compared.links.get(compared.best or "")
    carried = figure.case.carried if figure and figure.rate else {}
    total = sum(carried.values())
    order = [compared.target, *compared.peers]
    return "/".join(f"{100 * carried[spec] / total:.0f}" for spec in order if total and spec in carried)


def factor_words(factor: float) -> str:
    """Two decimals, since 1.85 and 1.95 times differ here: ``1.92``."""
    return f"{factor:.2f}" if factor < 9.995 else f"{factor:.1f}"
