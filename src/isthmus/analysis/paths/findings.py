"""Findings on several links: what neighbours add, how copies are divided, and what it costs these neighbours."""

from collections.abc import Sequence

from isthmus.analysis.paths.model import (
    DIRECTIONS,
    MEMORIES,
    OWN,
    Ceiling,
    Compared,
    Cost,
    ceilings,
    comparisons,
    costs,
    factor_words,
    gain_words,
    gains_from,
    largest,
    links_words,
    targets,
)
from isthmus.analysis.phrases import direction_word, memory_name, percent_words
from isthmus.analysis.statistics.contrast import MATTERS
from isthmus.document.finding import Finding, known
from isthmus.language import clauses, say, sentences
from isthmus.record import Run, format_bytes, format_rate

# What a neighbour may lose before that is a matter for its user.
_MUCH = 0.1


def findings(run: Run) -> list[Finding]:
    """One for each device, one on where the host ends it, one on what it costs; only on what was measured."""
    return known(*(_gains(run, each) for each in targets(run)), _ceiling(run), _costs(run))


def takeaway(run: Run) -> Finding | None:
    """What the first device gains, and how programs have it."""
    target = next(iter(targets(run)), "")
    first = _gains(run, target)
    if first is None:
        return None
    of_first = [each for memory in MEMORIES for each in _of(run, target, memory)]
    pays = any(gain.median >= MATTERS and gain.low > 1 for each in of_first if (gain := each.gain(each.best)))
    return Finding("note", "paths", first.text, do=(say("paths.advice") if pays else "",))


def _of(run: Run, target: str, memory: str) -> list[Compared]:
    compared = [each for direction in DIRECTIONS if (each := largest(run, target, memory, direction))]
    return [each for each in compared if each.bytes == compared[0].bytes]


def _gains(run: Run, target: str) -> Finding | None:
    texts = []
    for memory in MEMORIES:
        compared = _of(run, target, memory)
        if not compared:
            continue
        best = compared[0].best or OWN
        each = clauses(map(gain_words, compared))
        words = {"size": format_bytes(compared[0].bytes), "memory": memory_name(memory)}
        texts.append(say("paths.gains", target=target, links=links_words(compared[0], best), each=each, **words))
        starts = [start for one in compared if (start := gains_from(run, one))]
        smallest = min(one.bytes for one in comparisons(run) if (one.target, one.memory) == (target, memory))
        if len(starts) < len(compared):
            texts.append(say("paths.no_gain"))
        elif max(starts) > smallest:
            texts.append(say("paths.from", size=format_bytes(max(starts))))
    return Finding("note", f"paths_{target}", sentences(texts)) if texts else None


def _ceiling(run: Run) -> Finding | None:
    """What all devices copy at once by their own links, beyond which further links bring nothing."""
    all_links = ceilings(run)
    if not all_links:
        return None
    each = clauses(map(_ceiling_words, all_links))
    texts = [say("paths.ceiling", count=all_links[0].devices, each=each)]
    if any(ceiling.share is not None and ceiling.share < 1 - _MUCH for ceiling in all_links):
        texts.append(say("paths.ceiling_host"))
    return Finding("note", "paths_ceiling", sentences(texts))


def _ceiling_words(ceiling: Ceiling) -> str:
    words = {"direction": direction_word(ceiling.direction), "rate": format_rate(ceiling.rate.median)}
    if ceiling.share is None:
        return say("paths.ceiling_rate", **words)
    return say("paths.ceiling_share", percent=percent_words(ceiling.share), **words)


def _costs(run: Run) -> Finding | None:
    copies, kernels = (
        [cost for cost in costs(run) if (cost.work == "compute") == of_kernel] for of_kernel in (False, True)
    )
    texts = [_lost(copies, "copies"), _lost(kernels, "compute"), _kept(run, copies)]
    if not any(texts):
        return None
    more = [_more(cost, costs(run)) for cost in costs(run) if cost.method != OWN]
    much = max(more, default=0.0) > _MUCH
    return Finding(
        "ATTENTION" if much else "note",
        "paths_cost",
        sentences(filter(None, texts)),
        do=(say("paths.cost_fix") if much else "",),
    )


def _lost(of_work: Sequence[Cost], name: str) -> str:
    """The most that work lost during copies over its link, and during those by the own link alone."""
    over = [cost.loss.median for cost in of_work if cost.method != OWN]
    beside_own = [cost.loss.median for cost in of_work if cost.method == OWN]
    if not over or not beside_own:
        return ""
    return say(f"paths.lost_{name}", percent=percent_words(max(*over, 0.0)), own=percent_words(max(*beside_own, 0.0)))


def _kept(run: Run, copies: Sequence[Cost]) -> str:
    """The least that ours have while a neighbour copies, of the own link's rate alone."""
    alone = {
        (each.target, each.direction, each.bytes): figure.rate.median
        for each in comparisons(run)
        if each.memory == "pinned" and (figure := each.links.get(OWN)) and figure.rate
    }
    kept = [
        cost.rate.median / own
        for cost in copies
        if cost.method != OWN and (own := alone.get((cost.target, cost.direction, cost.bytes)))
    ]
    return say("paths.kept", factor=factor_words(min(kept))) if kept else ""


def _more(cost: Cost, of_all: Sequence[Cost]) -> float:
    """What the work surely lost beyond what it loses during copies by the own link alone."""
    own = next((other for other in of_all if other.method == OWN and other.place == cost.place), None)
    return cost.loss.low - max(own.loss.high, 0.0) if own else 0.0
