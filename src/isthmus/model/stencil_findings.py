"""What the stencil experiment says: the fastest way, what its time goes into, and managed against explicit memory."""

from collections.abc import Sequence

from isthmus.model.contrast import MATTERS
from isthmus.model.finding import Finding
from isthmus.model.phrases import capitalised, enumerated
from isthmus.model.stencil import MANAGED, STENCIL_METHODS, STENCIL_PHASES, Stencil, stencils
from isthmus.model.stencil_published import PUBLISHED_PAIRS, PublishedPair
from isthmus.model.stencil_words import (
    phase_words,
    ratio_words,
    setting_words,
    stencil_words,
    way_label,
    way_sentence,
)
from isthmus.record import LEAST_SAMPLES, Interval, Run, format_seconds

__all__ = ["stencil_findings", "stencil_verdict"]

# What is not worth naming as a part of the time.
_SMALL_SHARE = 0.05
_FEW = 3


def stencil_findings(run: Run) -> list[Finding]:
    """The fastest way on each square, what halos of other widths change, and each of the paper's two comparisons."""
    everything = [each for each in stencils(run) if each.points]
    narrowest = min((each.halo for each in everything), default=0)
    mains = [each for each in everything if each.halo == narrowest]
    found = [_fastest(each) for each in mains]
    found += [_compared(pair, mains) for pair in PUBLISHED_PAIRS]
    found += [_managed(mains), _wider(everything)]
    return [finding for finding in found if finding]


def stencil_verdict(run: Run) -> str:
    """What to take away; empty where no stencil was measured."""
    everything = [each for each in stencils(run) if each.points]
    if not everything:
        return ""
    narrowest = min(each.halo for each in everything)
    main = max((each for each in everything if each.halo == narrowest), key=lambda each: each.side)
    best = main.ranking[0]
    text = f"on {stencil_words(main)}, {setting_words(main)}, {way_sentence(best.way)} is fastest"
    over = [(point, told) for point in main.ranking[1:] if (told := main.ratio(point.way, best.way))]
    slowest = [f"{way_sentence(point.way)} takes {ratio_words(told)}" for point, told in over[-1:] if told.low > 1]
    return f"{'; '.join([text, *slowest])}."


def _fastest(stencil: Stencil) -> Finding | None:
    if len(stencil.points) < 2:
        return None
    best = stencil.ranking[0]
    tied = _tied(stencil)
    parts = [
        f"{100 * share:.0f} % {phase_words(phase)}"
        for phase in STENCIL_PHASES
        if (share := best.share(phase)) >= _SMALL_SHARE
    ]
    mpi = f", and MPI takes {format_seconds(best.mpi.median)} beside it" if best.mpi and stencil.ranks > 1 else ""
    return Finding(
        "info",
        f"stencil_fastest_{stencil.side}",
        f"{capitalised(stencil_words(stencil))}, {setting_words(stencil)}: fastest is {way_sentence(best.way)}, "
        f"{format_seconds(best.seconds.median)} for all iterations"
        f"{tied}, of which {enumerated(parts)}{mpi}.",
    )


def _tied(stencil: Stencil) -> str:
    """The ways that are as fast as the fastest, or how many they are."""
    tied = [way_sentence(point.way) for point in stencil.as_fast]
    if len(tied) > _FEW:
        return f" ({len(tied)} of the other {len(stencil.points) - 1} ways are not certainly slower)"
    return f" (as fast: {enumerated(tied)})" if tied else ""


def _compared(pair: PublishedPair, mains: Sequence[Stencil]) -> Finding | None:
    """One of the paper's comparisons with ours, by side, and where the lead changes hands."""
    ours = [(each, value) for each in mains if (value := pair.ours(each))]
    if not ours:
        return None
    here = enumerated([f"{_ratio(value)} at {each.side}" for each, value in ours])
    theirs = enumerated([f"{value:g} at {side}" for side, value in pair.ratios.items()])
    return Finding(
        "info",
        f"stencil_paper_{pair.managed[0]}",
        f"Where {pair.name}, {way_sentence(pair.managed)} takes this many times as long as "
        f"{way_sentence(pair.explicit)}: {here} points ({setting_words(ours[0][0])}{_few(pair, ours)}); in the paper "
        f"{theirs} (2 ranks, a V100 each).{_crossing(ours)}",
        cause=_compute_cause(pair, ours),
    )


def _few(pair: PublishedPair, ours: Sequence[tuple[Stencil, Interval]]) -> str:
    """Where so few samples were taken that intervals tell little."""
    fewest = min(each.points[way].samples for each, _ in ours for way in (pair.managed, pair.explicit))
    return "" if fewest >= LEAST_SAMPLES else f", from as few as {fewest} sample{'s' if fewest > 1 else ''}"


def _ratio(value: Interval) -> str:
    return ratio_words(value).removesuffix(" times as long")


def _crossing(ours: Sequence[tuple[Stencil, Interval]]) -> str:
    """Between which sides managed memory overtakes, where intervals tell it."""
    slower = [each.side for each, value in ours if value.low > 1]
    faster = [each.side for each, value in ours if value.high < 1]
    if slower and faster and max(slower) < min(faster):
        return f" Managed memory overtakes between {max(slower)} and {min(faster)} points."
    if faster and len(faster) == len(ours):
        return " Managed memory is faster on every square that was measured."
    if slower and len(slower) == len(ours):
        return " Managed memory is slower on every square that was measured."
    return ""


def _compute_cause(pair: PublishedPair, ours: Sequence[tuple[Stencil, Interval]]) -> str:
    """How much longer the kernels themselves take, which find pages gone that the CPU has touched."""
    stencil = ours[-1][0]
    managed, explicit = (stencil.points[way].phases.get("compute_seconds") for way in (pair.managed, pair.explicit))
    if not managed or not explicit or managed.low < MATTERS * explicit.high:
        return ""
    return (
        f"At {stencil.side} points the kernels alone take {format_seconds(managed.median)} on managed memory, since "
        f"they bring back the pages that the CPU has touched, and {format_seconds(explicit.median)} on device memory."
    )


def _managed(mains: Sequence[Stencil]) -> Finding | None:
    """Managed memory against the best explicit one, way by way, on the largest square."""
    if not mains:
        return None
    stencil = mains[-1]
    told = [
        (method, value) for method in STENCIL_METHODS if (value := stencil.managed_over_explicit(method)) is not None
    ]
    if not told:
        return None
    parts = [f"{way_label(method)} {ratio_words(value)}" for method, value in told]
    best = stencil.ranking[0]
    explicit = next((point for point in stencil.ranking if point.way[1] != MANAGED), None)
    fix = ""
    if explicit and best.way[1] == MANAGED:
        fix = f"Managed memory may stay: {way_sentence(best.way)} is no slower here than anything by hand."
    elif explicit and all(value.low > MATTERS for _, value in told):
        fix = f"Move halos by hand: {way_sentence(explicit.way)} is fastest here."
    return Finding(
        "info",
        "stencil_managed",
        f"Managed memory against the best explicit kind, {stencil_words(stencil)}: {'; '.join(parts)}.",
        fix=fix,
    )


def _wider(everything: Sequence[Stencil]) -> Finding | None:
    """What wider halos cost the fastest way and the plainest."""
    by_side: dict[int, list[Stencil]] = {}
    for each in everything:
        by_side.setdefault(each.side, []).append(each)
    several = [of_side for of_side in by_side.values() if len(of_side) > 1]
    if not several:
        return None
    first, *_, last = several[-1]
    parts = [
        f"{way_sentence(way)} {format_seconds(first.points[way].seconds.median)} and "
        f"{format_seconds(last.points[way].seconds.median)}"
        for way in dict.fromkeys((first.ranking[0].way, first.ranking[-1].way))
        if way in last.points
    ]
    if not parts:
        return None
    return Finding(
        "info",
        "stencil_halo",
        f"Halos of {first.halo} and of {last.halo} columns on a square of {first.side} points: {'; '.join(parts)}.",
    )
