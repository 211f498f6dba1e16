"""Which way to page-locked memory is the cheapest here, in sentences: up to which size, from where on, by how much."""

from collections.abc import Sequence
from itertools import groupby

from isthmus.model.allocation import AllocationCosts
from isthmus.model.allocation_words import shown_size
from isthmus.model.finding import Finding
from isthmus.model.phrases import about_bytes, capitalised, enumerated, memory_name
from isthmus.model.pinned_ways import EXISTING, PinnedChoice, pinned_choices, pinned_crossovers
from isthmus.record import format_bytes, format_seconds

__all__ = ["cheapest_pinned_finding"]

_MOST_RANGES = 4


def cheapest_pinned_finding(costs: AllocationCosts) -> Finding | None:
    """The cheapest way by ranges of sizes; None where fewer than two ways were measured."""
    choices = pinned_choices(costs)
    if not choices:
        return None
    shown = next(choice for choice in choices if choice.bytes == shown_size(choice.bytes for choice in choices))
    sentences = [f"The cheapest way to new page-locked memory, from allocation to release, is {_ranges(choices)}."]
    crossing = _crossing(costs, choices)
    if crossing:
        sentences.append(crossing)
    dearest_last = sorted(shown.costs.items(), key=lambda item: item[1].median)
    prices = [f"{format_seconds(cost.median)} as {memory_name(way)}" for way, cost in dearest_last if way != EXISTING]
    sentences.append(f"{format_bytes(shown.bytes)} cost {', '.join(prices)}.")
    existing = shown.costs.get(EXISTING)
    if existing:
        sentences.append(
            f"Registering as much memory that exists already, and undoing it, takes {format_seconds(existing.median)}."
        )
    return Finding("info", "allocation_cheapest_pinned", " ".join(sentences), fix=_advice(shown))


def _ranges(choices: Sequence[PinnedChoice]) -> str:
    """``up to 1 MiB pinned memory; from 4 MiB on registered memory``."""
    groups = [
        (ways, [choice.bytes for choice in group]) for ways, group in groupby(choices, lambda choice: choice.cheapest)
    ]
    if len(groups) > _MOST_RANGES:
        return "another one from size to size, as the table shows"
    texts = []
    for index, (ways, sizes) in enumerate(groups):
        name = enumerated([memory_name(way) for way in ways], "or")
        name += " (which of them cannot be told)" if len(ways) > 1 else ""
        first, last = format_bytes(sizes[0]), format_bytes(sizes[-1])
        if len(groups) == 1:
            texts.append(f"{name} at every size measured")
        elif index == 0:
            texts.append(f"up to {last} {name}")
        elif index == len(groups) - 1:
            texts.append(f"from {first} on {name}")
        else:
            texts.append(f"at {first} {name}" if first == last else f"from {first} to {last} {name}")
    return "; ".join(texts)


def _crossing(costs: AllocationCosts, choices: Sequence[PinnedChoice]) -> str:
    """Where pinned memory loses its lead to the way that is cheapest in the end, between the measured sizes."""
    winner = choices[-1].cheapest[0]
    for crossover in pinned_crossovers(costs):
        threshold = crossover.threshold
        if (crossover.incumbent, crossover.challenger) == ("pinned", winner) and threshold.state == "from":
            low, high = about_bytes(threshold.low), about_bytes(threshold.high)
            span = "" if low == high else f" (95 % interval {low} to {high})"
            if not threshold.certain:
                span = ", though not for certain"
            at = about_bytes(threshold.value)
            return f"{capitalised(memory_name(winner))} overtakes pinned memory at {at}{span}."
    return ""


def _advice(shown: PinnedChoice) -> str:
    if len(shown.cheapest) > 1:
        return "Take whichever is simpler, and keep the buffer."
    advice = {
        "pinned": "Ask the driver for pinned memory, and keep the buffer.",
        "touched_registered": "Map large buffers, let many threads touch them and register them, in place of asking "
        "the driver for pinned memory.",
        "touched_registered_huge": "Map large buffers, ask for huge pages with madvise(MADV_HUGEPAGE), let many "
        "threads touch them and register them, in place of asking the driver for pinned memory.",
    }
    return f"{advice[shown.cheapest[0]]} Register memory that exists already where it is."
