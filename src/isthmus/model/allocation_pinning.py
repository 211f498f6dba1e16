"""Which way to page-locked memory is the cheapest here, in sentences: up to which size, from where on, by how much."""

from collections.abc import Sequence

from isthmus.model.allocation import AllocationCosts
from isthmus.model.allocation_words import shown_size
from isthmus.model.finding import Finding
from isthmus.model.phrases import about_bytes, capitalised, enumerated, memory_name
from isthmus.model.pinned_ways import EXISTING, PinnedChoice, pinned_choices, pinned_crossovers
from isthmus.model.shape import LARGE_BYTES
from isthmus.record import Run, format_bytes, format_seconds

__all__ = ["cheapest_pinned_finding"]

_MOST_RANGES = 4


def cheapest_pinned_finding(run: Run, costs: AllocationCosts) -> Finding | None:
    """The cheapest way by ranges of sizes; None where fewer than two ways were measured."""
    choices = pinned_choices(costs)
    if not choices:
        return None
    shown = next(choice for choice in choices if choice.bytes == shown_size(choice.bytes for choice in choices))
    sentences = [_ranges(choices)]
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
    if run.fingerprint.device.shares_host_memory:
        sentences.append("The device shares the host's memory, so none has to be locked for its sake.")
        return Finding("info", "allocation_cheapest_pinned", " ".join(sentences))
    return Finding("info", "allocation_cheapest_pinned", " ".join(sentences), fix=_advice(shown))


def _ranges(choices: Sequence[PinnedChoice]) -> str:
    """The cheapest way by ranges of sizes as a sentence; where the lead keeps changing, from 1 MiB on alone."""
    groups = _unbeaten(choices)
    if len(groups) <= _MOST_RANGES:
        return (
            "The way to new page-locked memory that none certainly beats, from allocation to release: "
            f"{_listed(groups)}."
        )
    text = "No way to get page-locked memory is the cheapest at all sizes"
    large = _unbeaten([choice for choice in choices if choice.bytes >= LARGE_BYTES])
    if not large or len(large) > _MOST_RANGES:
        return f"{text}; the table has them by size."
    listed = _names(large[0][0]) if len(large) == 1 else _listed(large)
    return f"{text}; from {format_bytes(large[0][1])} on it is {listed}."


def _listed(groups: Sequence[tuple[list[str], int, int]]) -> str:
    """``up to 1 MiB pinned memory; from 4 MiB on registered memory``."""
    texts = []
    for index, (ways, first, last) in enumerate(groups):
        name = _names(ways)
        if len(groups) == 1:
            texts.append(f"{name}, at every size measured")
        elif index == 0 and first < last:
            texts.append(f"up to {format_bytes(last)} {name}")
        elif index == len(groups) - 1:
            texts.append(f"from {format_bytes(first)} on {name}")
        else:
            span = f"at {format_bytes(first)}" if first == last else f"{format_bytes(first)} to {format_bytes(last)}"
            texts.append(f"{span} {name}")
    return "; ".join(texts)


def _names(ways: Sequence[str]) -> str:
    name = enumerated([memory_name(way) for way in ways], "or")
    return f"{name} (which of them cannot be told)" if len(ways) > 1 else name


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
