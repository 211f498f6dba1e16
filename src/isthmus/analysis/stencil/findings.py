"""What the stencil experiment says: the fastest method on each square, managed memory, rows one by one."""

from collections.abc import Iterator, Sequence

from isthmus.analysis.phrases import factor_words, times
from isthmus.analysis.statistics.contrast import MATTERS
from isthmus.analysis.stencil.model import (
    MANAGED,
    STENCIL_METHODS,
    Stencil,
    on_most_ranks,
    stencil_words,
    way_of,
    way_title,
)
from isthmus.document.finding import Finding
from isthmus.language import first_few, say, sentences
from isthmus.record import Run, format_seconds

# So many methods that are as fast are named; of the others, their number is.
_FEW = 3
# By what packs, the paper's automatic and manual data movement.
_PACKERS = {
    "CPU": (("cpu_columns", MANAGED), ("cpu_whole", "pageable")),
    "GPU": (("gpu_pack", MANAGED), ("gpu_pack", "pageable")),
}


def findings(run: Run) -> list[Finding]:
    """The fastest method on each square, managed memory, and rows one by one; tables have the rest."""
    everything = on_most_ranks(run)
    narrowest = min((each.halo for each in everything), default=0)
    candidates = [_fastest(each) for each in everything if each.halo == narrowest and len(each.points) > 1]
    turning = _turning([each for each in _squares(everything) if each.halo == narrowest])
    narrow = [each for each in _squares(everything) if each.halo == narrowest]
    return [*candidates, *turning, *_row_by_row(narrow)]


def takeaway(run: Run) -> Finding | None:
    """What to take away from the largest square; None where no stencil was measured."""
    everything = on_most_ranks(run)
    everything = _squares(everything) or everything
    if not everything:
        return None
    narrowest = min(each.halo for each in everything)
    main = max((each for each in everything if each.halo == narrowest), key=lambda each: each.side)
    return Finding("note", "stencil", _fastest_sentence(main), do=(_advice(main),))


def _squares(everything: Sequence[Stencil]) -> list[Stencil]:
    """In strips, as the paper cuts them; where there are none, however they are cut."""
    squares = [each for each in everything if each.is_square]
    return [each for each in squares if each.down == 1] or squares


def _advice(stencil: Stencil) -> str:
    """Whether managed memory may stay or costs too much; empty where neither, or nothing was compared."""
    ratios = [value for method in STENCIL_METHODS if (value := stencil.managed_over_explicit(method))]
    if not ratios:
        return ""
    if way_of(stencil.ranking[0])[1] == MANAGED:
        return say("stencil.advice_stay")
    return say("stencil.advice_by_hand") if all(value.low > MATTERS for value in ratios) else ""


def _fastest(stencil: Stencil) -> Finding:
    tied = [way_title(way_of(point)) for point in stencil.as_fast]
    topic = f"stencil_fastest_{stencil.side}"
    if not stencil.is_square:
        topic += f"x{stencil.columns}"
    if stencil.down > 1:
        topic += f"_grid_{stencil.down}x{stencil.across}"
    ties = say("stencil.tied", methods=first_few(tied, most=_FEW)) if tied else ""
    return Finding("note", topic, sentences([_fastest_sentence(stencil), ties]))


def _turning(squares: Sequence[Stencil]) -> Iterator[Finding]:
    """At which side managed memory begins to win over explicit copies, for either packer, compared as in the paper."""
    for packer, (managed, explicit) in _PACKERS.items():
        by_side = {each.side: value for each in squares if (value := each.ratio(managed, explicit))}
        if not by_side:
            continue
        sides = sorted(by_side)
        ratios = [
            say("stencil.at_side", times=times(by_side[side].median, by_side[side].median), side=side) for side in sides
        ]
        # What may be noise is no win.
        lost = [side for side in sides if by_side[side].high >= 1]
        if not lost:
            answer = say("stencil.wins_everywhere")
        elif lost[-1] == sides[-1]:
            is_unclear = by_side[sides[-1]].median < 1
            answer = say("stencil.wins_unclear") if is_unclear else say("stencil.wins_nowhere", side=sides[-1])
        else:
            answer = say("stencil.wins_between", low=lost[-1], high=next(side for side in sides if side > lost[-1]))
        text = say("stencil.managed", packer=packer, ratios=say("common.comma").join(ratios), answer=answer)
        yield Finding("note", f"stencil_managed_{packer.lower()}", text)


def _row_by_row(squares: Sequence[Stencil]) -> Iterator[Finding]:
    """What it costs that a ``double **`` is copied row by row, on the largest square that was measured so."""
    rows, block = ("cpu_rows", "pageable"), ("cpu_whole", "pageable")
    by_side = {each.side: value for each in squares if (value := each.ratio(rows, block))}
    if by_side:
        side = max(by_side)
        text = say("stencil.row_by_row", times=factor_words(by_side[side]), side=side)
        yield Finding("note", "stencil_rows", text)


def _fastest_sentence(stencil: Stencil) -> str:
    best = stencil.ranking[0]
    return say(
        "stencil.fastest",
        stencil=stencil_words(stencil),
        method=way_title(way_of(best)),
        time=format_seconds(best.seconds.median),
    )
