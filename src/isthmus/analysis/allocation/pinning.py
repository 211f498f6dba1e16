"""Which way to page-locked memory is the cheapest here, in sentences: up to which size, from where on, by how much."""

from collections.abc import Sequence

from isthmus.analysis.allocation.model import AllocationCosts
from isthmus.analysis.allocation.pinned_ways import EXISTING, PinnedChoice, pinned_choices, pinned_crossovers
from isthmus.analysis.allocation.words import shown_size
from isthmus.analysis.phrases import about_bytes, memory_name
from isthmus.analysis.statistics.shape import LARGE_BYTES
from isthmus.document.finding import Finding
from isthmus.language import capitalised, clauses, enumerated, say, sentences
from isthmus.record import Run, format_bytes, format_seconds

__all__ = ["cheapest_pinned_finding"]

_MOST_RANGES = 4


def cheapest_pinned_finding(run: Run, costs: AllocationCosts) -> Finding | None:
    """The cheapest way by ranges of sizes; None where fewer than two ways were measured."""
    choices = pinned_choices(costs)
    if not choices:
        return None
    shown = next(choice for choice in choices if choice.bytes == shown_size(choice.bytes for choice in choices))
    dearest_last = sorted(shown.costs.items(), key=lambda item: item[1].median)
    prices = [
        say("allocation.price", time=format_seconds(cost.median), memory=memory_name(way))
        for way, cost in dearest_last
        if way != EXISTING
    ]
    listed = say("common.comma").join(prices)
    parts = [
        _ranges(choices),
        _crossing(costs, choices),
        say("allocation.prices", size=format_bytes(shown.bytes), prices=listed),
    ]
    existing = shown.costs.get(EXISTING)
    if existing:
        parts.append(say("allocation.registering_existing", time=format_seconds(existing.median)))
    if run.fingerprint.device.shares_host_memory:
        parts.append(say("allocation.nothing_to_lock"))
        return Finding("info", "allocation_cheapest_pinned", sentences(parts))
    return Finding("info", "allocation_cheapest_pinned", sentences(parts), fix=_advice(shown))


def _ranges(choices: Sequence[PinnedChoice]) -> str:
    """The cheapest way by ranges of sizes as a sentence; where the lead keeps changing, from 1 MiB on alone."""
    groups = _unbeaten(choices)
    if len(groups) <= _MOST_RANGES:
        return say("allocation.unbeaten", ways=_listed(groups))
    large = _unbeaten([choice for choice in choices if choice.bytes >= LARGE_BYTES])
    if not large or len(large) > _MOST_RANGES:
        return say("allocation.none_cheapest")
    listed = _names(large[0][0]) if len(large) == 1 else _listed(large)
    return say("allocation.none_cheapest_but_large", size=format_bytes(large[0][1]), ways=listed)


def _listed(groups: Sequence[tuple[list[str], int, int]]) -> str:
    """``up to 1 MiB pinned memory; from 4 MiB on registered memory``."""
    texts = []
    for index, (ways, first, last) in enumerate(groups):
        names = _names(ways)
        if len(groups) == 1:
            texts.append(say("allocation.at_every_size", ways=names))
        elif index == 0 and first < last:
            texts.append(say("allocation.up_to", size=format_bytes(last), ways=names))
        elif index == len(groups) - 1:
            texts.append(say("allocation.from", size=format_bytes(first), ways=names))
        elif first == last:
            texts.append(say("allocation.at", size=format_bytes(first), ways=names))
        else:
            span = say("common.range", low=format_bytes(first), high=format_bytes(last))
            texts.append(say("allocation.between", sizes=span, ways=names))
    return clauses(texts)


def _names(ways: Sequence[str]) -> str:
    names = enumerated([memory_name(way) for way in ways], "or")
    return say("allocation.one_of", ways=names) if len(ways) > 1 else names


def _unbeaten(choices: Sequence[PinnedChoice]) -> list[tuple[list[str], int, int]]:
    """As few ranges of sizes as possible, each with the ways that are among the cheapest at all of its sizes."""
    found: list[tuple[list[str], int, int]] = []
    for choice in choices:
        ways, first = (found[-1][0], found[-1][1]) if found else ([], 0)
        common = [way for way in ways if way in choice.cheapest]
        if common:
            found[-1] = (common, first, choice.bytes)
        else:
            found.append((list(choice.cheapest), choice.bytes, choice.bytes))
    return found


def _crossing(costs: AllocationCosts, choices: Sequence[PinnedChoice]) -> str:
    """Where pinned memory loses its lead to the way that is cheapest in the end, between the measured sizes."""
    winner = choices[-1].cheapest[0]
    for crossover in pinned_crossovers(costs):
        threshold = crossover.threshold
        if (crossover.incumbent, crossover.challenger) == ("pinned", winner) and threshold.state == "from":
            words = {"way": capitalised(memory_name(winner)), "size": about_bytes(threshold.value)}
            low, high = about_bytes(threshold.low), about_bytes(threshold.high)
            if not threshold.certain:
                return say("allocation.overtakes_perhaps", **words)
            if low == high:
                return say("allocation.overtakes", **words)
            return say("allocation.overtakes_within", **words, low=low, high=high)
    return ""


def _advice(shown: PinnedChoice) -> str:
    if len(shown.cheapest) > 1:
        return say("allocation.take_whichever")
    return sentences([say(f"allocation.get_{shown.cheapest[0]}"), say("allocation.register_existing")])
