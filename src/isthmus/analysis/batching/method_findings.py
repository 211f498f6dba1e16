"""Which method is the fastest where, from how many pieces on it pays, and how well it can be looked up: sentences."""

from collections import Counter
from collections.abc import Sequence

from isthmus.analysis.batching.model import LOOPS, BatchingSurface
from isthmus.analysis.batching.thresholds import BatchingThreshold, CliffLook, batch_cliff, batching_thresholds
from isthmus.analysis.phrases import factor_words, spanned, way_name
from isthmus.analysis.pieces.method_table import held_out, share_within
from isthmus.analysis.pieces.words import cell_words, count_words, method_words, place_words, setting_words
from isthmus.document.finding import Finding
from isthmus.language import enumerated, say, sentences
from isthmus.record import Run, format_bytes, format_rate

__all__ = ["breakeven_finding", "cliff_finding", "fastest_finding", "table_finding"]

# A method so close to the fastest is as good as any, and a table should name one so often.
_WITHIN, _ENOUGH = 1.1, 0.95


def fastest_finding(surfaces: Sequence[BatchingSurface]) -> Finding | None:
    """Where each method is the fastest, for surfaces of one kind of memory and pair of layouts."""
    # Ways of which the same is true are said together.
    ways: dict[tuple[int, str, int], list[str]] = {}
    for surface in surfaces:
        cells = {key: cell for key, cell in surface.measured.items() if key[1] > 1 and len(cell.points) > 1}
        if not cells:
            continue
        told = []
        for method, points in Counter(cell.fastest for cell in cells.values()).most_common():
            sizes = _span([size for (size, _), cell in cells.items() if cell.fastest == method])
            words = method_words(method, surface)
            told.append(say("batching.fastest_method", method=words, points=points, sizes=sizes))
        tied = sum(bool(cell.as_fast) for cell in cells.values())
        ways.setdefault((len(cells), enumerated(told), tied), []).append(way_name(surface.direction))
    if not ways:
        return None
    told = [
        say(
            "batching.fastest_way_tied" if tied else "batching.fastest_way",
            ways=enumerated(of),
            count=count,
            methods=methods,
            tied=tied,
        )
        for (count, methods, tied), of in ways.items()
    ]
    return Finding(
        "info",
        f"batching_fastest_{surfaces[0].host_memory}",
        say("batching.fastest", setting=setting_words(surfaces[0]), ways=sentences(told)),
    )


def _span(sizes: Sequence[int]) -> str:
    """``64 B to 4 KiB``."""
    return spanned(format_bytes(min(sizes)), format_bytes(max(sizes)))


def breakeven_finding(run: Run, surfaces: Sequence[BatchingSurface]) -> Finding | None:
    """From how many pieces on the loop is worth replacing by what is the fastest for many of them."""
    ways: dict[tuple[str, str], list[str]] = {}
    for surface in surfaces:
        ranking = surface.cells[surface.typical].ranking if surface.typical else ()
        method = next((each for each in ranking if each not in LOOPS), None)
        found = batching_thresholds(surface, run.settings.target_relative_half_width)
        answers = _by_answer([each for each in found if each.method == method])
        if answers and method:
            ways.setdefault((method_words(method, surface), answers), []).append(way_name(surface.direction))
    if not ways:
        return None
    told = [
        say("batching.breakeven_way", ways=enumerated(of), method=method, answers=answers)
        for (method, answers), of in ways.items()
    ]
    return Finding(
        "info",
        f"batching_breakeven_{surfaces[0].host_memory}",
        say("batching.breakeven", setting=setting_words(surfaces[0]), ways=sentences(told)),
    )


def _by_answer(thresholds: Sequence[BatchingThreshold]) -> str:
    """``64 B from 7 on (6 to 9); 64 KiB at no number measured``; sizes with one answer are said together."""
    groups: dict[str, list[str]] = {}
    for each in thresholds:
        never = each.threshold.state == "never" and each.threshold.certain
        answer = say("batching.count_nowhere") if never else count_words(each.threshold)
        groups.setdefault(answer, []).append(format_bytes(each.piece_bytes))
    told = (say("batching.breakeven_sizes", sizes=enumerated(sizes), answer=answer) for answer, sizes in groups.items())
    return say("common.between_statements").join(told)


def cliff_finding(surfaces: Sequence[BatchingSurface]) -> Finding | None:
    """The largest jump of the surfaces on which the batch call was measured closely enough."""
    looked = [(surface, found) for surface in surfaces if (found := batch_cliff(surface))]
    if not looked:
        return None
    jumps = [(surface, look.cliff) for surface, look in looked if look.cliff]
    if not jumps:
        return _no_cliff(looked)
    _, cliff = max(jumps, key=lambda each: each[1].gain.median)
    alike = [surface for surface, each in jumps if (each.below, each.above) == (cliff.below, cliff.above)]
    everywhere = len(alike) == len(looked)
    where = say("batching.cliff_everywhere") if everywhere else enumerated([place_words(surface) for surface in alike])
    return Finding(
        "info",
        "batching_cliff",
        say(
            "batching.cliff",
            where=where,
            pieces=cell_words((cliff.below, cliff.pieces)),
            times=factor_words(cliff.gain),
            count=cliff.pieces,
            size=format_bytes(cliff.above),
            slow=format_rate(cliff.slow.rate.median),
            fast=format_rate(cliff.fast.rate.median),
        ),
        cause=say("batching.cliff_cause"),
        fix=say("batching.cliff_fix", size=format_bytes(cliff.above)),
    )


def _no_cliff(looked: Sequence[tuple[BatchingSurface, CliffLook]]) -> Finding:
    """Where sizes lie close enough to each other to say so; else that nobody can tell."""
    places: dict[tuple[str, str, int], list[str]] = {}
    for surface, look in looked:
        if look.close:
            first, last = map(format_bytes, look.close)
            places.setdefault((first, last, look.pieces), []).append(place_words(surface))
    if places:
        spans = [
            say("batching.no_cliff_span", first=first, last=last, pieces=pieces)
            if len(of) == len(looked)
            else say("batching.no_cliff_span_at", first=first, last=last, pieces=pieces, places=enumerated(of))
            for (first, last, pieces), of in places.items()
        ]
        return Finding("info", "batching_cliff", say("batching.no_cliff", spans=enumerated(spans)))
    surface, look = looked[0]
    return Finding(
        "info",
        "batching_cliff",
        say("batching.cliff_unknown", sizes=_span(list(surface.along_sizes(look.pieces, "batch")))),
        fix=say("batching.cliff_unknown_fix"),
    )


def table_finding(surfaces: Sequence[BatchingSurface]) -> Finding | None:
    """How well a method can be looked up between the measured points."""
    spots = [spot for surface in surfaces for spot in held_out(surface.table)]
    if not spots:
        return None
    worst = max(spots, key=lambda spot: spot.slowdown)
    share = share_within(spots, _WITHIN)
    return Finding(
        "info",
        "batching_table",
        say(
            "batching.table",
            percent=100 * (_WITHIN - 1),
            good=round(share * len(spots)),
            points=len(spots),
            slowdown=worst.slowdown,
            where=cell_words((int(worst.spot[0]), int(worst.spot[1]))),
        ),
        fix="" if share >= _ENOUGH else say("batching.table_fix"),
    )
