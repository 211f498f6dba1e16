"""What the stencil experiment says: the fastest way, what its time goes into, and managed against explicit memory."""

from collections.abc import Mapping, Sequence
from typing import Literal

from isthmus.analysis.statistics.contrast import MATTERS
from isthmus.analysis.stencil.model import MANAGED, STENCIL_METHODS, STENCIL_PHASES, Stencil, StencilWay, stencils
from isthmus.analysis.stencil.scaling_findings import scaling_findings
from isthmus.analysis.stencil.words import (
    phase_words,
    ratio_words,
    setting_words,
    stencil_words,
    way_label,
    way_sentence,
)
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import capitalised, enumerated, say, sentences
from isthmus.record import LEAST_SAMPLES, Interval, Run, format_seconds

# What is not worth naming as a part of the time.
_SMALL_SHARE = 0.05
_FEW = 3
# Managed memory against explicit memory, by who packs: automatic movement and the plainest one by hand.
_PAIRS: Mapping[str, tuple[StencilWay, StencilWay]] = {
    "cpu": (("cpu_columns", MANAGED), ("cpu_whole", "pageable")),
    "gpu": (("gpu_pack", MANAGED), ("gpu_pack", "pageable")),
}


def findings(run: Run) -> list[Finding]:
    """The fastest way on each square, what halos of other widths change, and managed against explicit memory."""
    everything = _on_most_ranks(run)
    narrowest = min((each.halo for each in everything), default=0)
    squares = _squares(everything)
    mains = [each for each in squares if each.halo == narrowest]
    found = [_fastest(each) for each in everything if each.halo == narrowest]
    found += [_compared(packer, [each for each in mains if each.down == 1]) for packer in _PAIRS]
    found += [_managed(mains), _wider(squares)]
    return [finding for finding in found if finding] + scaling_findings(run)


def _on_most_ranks(run: Run) -> list[Stencil]:
    """What there is to conclude from; what fewer ranks do is a matter of how it scales."""
    everything = [each for each in stencils(run) if each.points]
    most = max((each.ranks for each in everything), default=0)
    return [each for each in everything if each.ranks == most]


def _squares(everything: Sequence[Stencil]) -> list[Stencil]:
    """In strips, as the paper cuts them; where there are none, however they are cut."""
    squares = [each for each in everything if each.is_square]
    return [each for each in squares if each.down == 1] or squares


def takeaway(run: Run) -> Takeaway | None:
    """What to take away from the largest square; None where no stencil was measured."""
    everything = _on_most_ranks(run)
    everything = _squares(everything) or everything
    if not everything:
        return None
    narrowest = min(each.halo for each in everything)
    main = max((each for each in everything if each.halo == narrowest), key=lambda each: each.side)
    best = main.ranking[0]
    told = [
        say("stencil.verdict", square=stencil_words(main), setting=setting_words(main), way=way_sentence(best.way)),
    ]
    over = [(point, value) for point in main.ranking[1:] if (value := main.ratio(point.way, best.way))]
    told += [
        capitalised(say("stencil.verdict_slowest", way=way_sentence(point.way), ratio=ratio_words(value)))
        for point, value in over[-1:]
        if value.low > 1
    ]
    advice = {"stay": say("stencil.advice_stay"), "by_hand": say("stencil.advice_by_hand"), None: ""}
    return Takeaway(sentences(told), advice[_advised(main)])


def _fastest(stencil: Stencil) -> Finding | None:
    if len(stencil.points) < 2:
        return None
    best = stencil.ranking[0]
    shares = [
        say("stencil.share", percent=100 * share, phase=phase_words(phase))
        for phase in STENCIL_PHASES
        if (share := best.share(phase)) >= _SMALL_SHARE
    ]
    told = [
        say(
            "stencil.fastest",
            square=stencil_words(stencil),
            setting=setting_words(stencil),
            way=way_sentence(best.way),
            time=format_seconds(best.seconds.median),
        ),
        _tied(stencil),
        say("stencil.shares", shares=enumerated(shares)) if shares else "",
        say("stencil.mpi_beside", time=format_seconds(best.mpi.median)) if best.mpi and stencil.ranks > 1 else "",
    ]
    topic = f"stencil_fastest_{stencil.side}"
    if not stencil.is_square:
        topic += f"x{stencil.columns}"
    if stencil.down > 1:
        topic += f"_grid_{stencil.down}x{stencil.across}"
    return Finding("info", topic, sentences(told))


def _tied(stencil: Stencil) -> str:
    """The ways that are as fast as the fastest, or how many they are."""
    tied = [way_sentence(point.way) for point in stencil.as_fast]
    if len(tied) > _FEW:
        return say("stencil.many_as_fast", tied=len(tied), others=len(stencil.points) - 1)
    return capitalised(say("stencil.as_fast", count=len(tied), ways=enumerated(tied))) if tied else ""


def _compared(packer: str, mains: Sequence[Stencil]) -> Finding | None:
    """Managed over explicit memory by side, and where the lead changes hands."""
    managed, explicit = _PAIRS[packer]
    ours = [(each, value) for each in mains if (value := each.ratio(managed, explicit))]
    if not ours:
        return None
    compared = say(
        f"stencil.compared_{packer}",
        managed=way_sentence(managed),
        explicit=way_sentence(explicit),
        here=enumerated([say("stencil.at_side", ratio=ratio_words(value), side=each.side) for each, value in ours]),
        setting=setting_words(ours[0][0]),
    )
    return Finding(
        "info",
        f"stencil_paper_{managed[0]}",
        sentences([compared, _few(packer, ours), _crossing(ours)]),
        cause=_compute_cause(packer, ours),
    )


def _few(packer: str, ours: Sequence[tuple[Stencil, Interval]]) -> str:
    """Where so few samples were taken that intervals tell little."""
    fewest = min(each.points[way].samples for each, _ in ours for way in _PAIRS[packer])
    return "" if fewest >= LEAST_SAMPLES else say("stencil.few_samples", count=fewest)


def _crossing(ours: Sequence[tuple[Stencil, Interval]]) -> str:
    """Between which sides managed memory overtakes, where intervals tell it."""
    slower = [each.side for each, value in ours if value.low > 1]
    faster = [each.side for each, value in ours if value.high < 1]
    if slower and faster and max(slower) < min(faster):
        return say("stencil.overtakes", slower=max(slower), faster=min(faster))
    if faster and len(faster) == len(ours):
        return say("stencil.faster_everywhere")
    if slower and len(slower) == len(ours):
        return say("stencil.slower_everywhere")
    return ""


def _compute_cause(packer: str, ours: Sequence[tuple[Stencil, Interval]]) -> str:
    """How much longer the kernels themselves take, which find pages gone that the CPU has touched."""
    stencil = ours[-1][0]
    managed, explicit = (stencil.points[way].phases.get("compute_seconds") for way in _PAIRS[packer])
    if not managed or not explicit or managed.low < MATTERS * explicit.high:
        return ""
    return say(
        "stencil.compute_cause",
        side=stencil.side,
        managed=format_seconds(managed.median),
        explicit=format_seconds(explicit.median),
    )


def _managed(mains: Sequence[Stencil]) -> Finding | None:
    """Managed memory against the best explicit one, way by way, on the largest square."""
    told = _managed_ratios(mains[-1]) if mains else []
    if not told:
        return None
    stencil = mains[-1]
    parts = [say("stencil.managed_part", way=way_label(method), ratio=ratio_words(value)) for method, value in told]
    fix = ""
    match _advised(stencil):
        case "stay":
            fix = say("stencil.may_stay", way=way_sentence(stencil.ranking[0].way))
        case "by_hand":
            best = next(point for point in stencil.ranking if point.way[1] != MANAGED)
            fix = say("stencil.by_hand", way=way_sentence(best.way))
    text = say("stencil.managed", square=stencil_words(stencil), parts=enumerated(parts))
    return Finding("info", "stencil_managed", text, fix=fix)


def _managed_ratios(stencil: Stencil) -> list[tuple[str, Interval]]:
    """By method managed memory over the best explicit kind, where both were measured."""
    return [
        (method, value) for method in STENCIL_METHODS if (value := stencil.managed_over_explicit(method)) is not None
    ]


def _advised(stencil: Stencil) -> Literal["stay", "by_hand"] | None:
    """Whether managed memory may stay or certainly costs too much; None where neither, or nothing, was compared."""
    told = _managed_ratios(stencil)
    if not told:
        return None
    if stencil.ranking[0].way[1] == MANAGED:
        return "stay"
    return "by_hand" if all(value.low > MATTERS for _, value in told) else None


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
        say(
            "stencil.wider_part",
            way=way_sentence(way),
            narrow=format_seconds(first.points[way].seconds.median),
            wide=format_seconds(last.points[way].seconds.median),
        )
        for way in dict.fromkeys((first.ranking[0].way, first.ranking[-1].way))
        if way in last.points
    ]
    if not parts:
        return None
    text = say("stencil.wider", first=first.halo, last=last.halo, side=first.side, parts=enumerated(parts))
    return Finding("info", "stencil_halo", text)
