"""What the overlap experiment says: all its findings, and what to take away."""

from collections.abc import Sequence

from isthmus.model.contrast import MATTERS, ratio
from isthmus.model.finding import Finding
from isthmus.model.overlap import Overlap, PipelinePoint, larger_overlaps, main_overlaps, overlaps
from isthmus.model.overlap_exchange import exchanges
from isthmus.model.overlap_gain_findings import gain_finding
from isthmus.model.overlap_limit_findings import above_bound_finding, both_ways_finding, chunk_cost_finding
from isthmus.model.overlap_words import multiple_digits, way_words, work_words
from isthmus.model.phrases import enumerated, memory_name, times
from isthmus.record import Interval, Run, format_bytes, format_seconds

__all__ = ["overlap_findings", "overlap_verdict"]


def overlap_findings(run: Run) -> list[Finding]:
    """One for each kind of memory; then both ways at once, what a chunk costs, other work, and too low bounds."""
    everything = overlaps(run)
    mains = main_overlaps(everything)
    if not mains:
        return []
    size = mains[0].bytes
    exchanged = exchanges(run)
    both = [each for each in exchanged if each.bytes == size]
    single = [
        _comparison(mains),
        both_ways_finding(run, both),
        chunk_cost_finding(mains),
        _other_work([each for each in everything if each.bytes == size], mains),
        above_bound_finding(run, everything),
    ]
    gains = [
        gain_finding(run, each, [one for one in exchanged if one.bytes == each.bytes], mains)
        for each in (*mains, *larger_overlaps(everything, mains))
    ]
    return [*gains, *(finding for finding in single if finding)]


def overlap_verdict(run: Run) -> str:
    """What to take away about overlap; empty where none was measured."""
    mains = [each for each in main_overlaps(overlaps(run)) if each.best and each.best.speedup]
    told = [_gained(each, each.best) for each in mains if each.gains == "yes" and each.best]
    without = [each for each in mains if each.gains == "no"]
    lost, none = ([memory_name(each.host_memory) for each in without if each.loses is loses] for loses in (True, False))
    if lost:
        told.append(f"{enumerated(lost)} lose{'s' if len(lost) == 1 else ''} by chunks and streams")
    if none:
        told.append(f"{enumerated(none)} gain{'s' if len(none) == 1 else ''} nothing from chunks and streams")
    unknown = [memory_name(each.host_memory) for each in mains if each.gains == "cannot tell"]
    if unknown:
        verb = "gains" if len(unknown) == 1 else "gain"
        much = f"{100 * (MATTERS - 1):.0f} % or more"
        told.append(f"whether {enumerated(unknown)} {verb} {much} from chunks and streams, this run cannot tell")
    return f"{'; '.join(told)}." if told else ""


def _gained(each: Overlap, best: PipelinePoint) -> str:
    assert best.speedup is not None
    way = way_words(each.host_memory, best.chunks, best.streams)
    share = f", {100 * best.share.median:.0f} % of the bound" if best.share else ""
    faster = f"{best.speedup.median:.2f} times as fast as copy, work and copy in turn"
    return f"{memory_name(each.host_memory)} in {way} is {faster}{share}"


def _comparison(mains: Sequence[Overlap]) -> Finding | None:
    """The best of each kind against pageable memory in one piece, which is what a program does first."""
    plain = next((each.serial for each in mains if each.host_memory == "pageable"), None)
    others = [(each, each.best) for each in mains if each.host_memory != "pageable" and each.best]
    if plain is None or not others or len({each.ratio for each in mains}) > 1:
        return None
    parts = []
    for each, best in others:
        faster = ratio(plain.seconds, best.seconds)
        took = f"{memory_name(each.host_memory)} {format_seconds(best.seconds.median)}"
        parts.append(f"{took} ({_faster_words(faster)})")
    return Finding(
        "info",
        "overlap_memory",
        f"Pageable memory in one piece, {format_bytes(mains[0].bytes)} with {work_words(mains[0].work)}, takes "
        f"{format_seconds(plain.seconds.median)}; at its best {enumerated(parts)}.",
    )


def _faster_words(faster: Interval) -> str:
    """``1.4 to 1.6 times as fast``, as far as the interval tells."""
    if faster.low > 1:
        return f"{times(faster.low, faster.high)} as fast"
    if faster.high < 1:
        return f"slower: {times(faster.low, faster.high)} as fast"
    return "no faster" if faster.high < MATTERS else "whether faster, this run cannot tell"


def _other_work(everything: Sequence[Overlap], mains: Sequence[Overlap]) -> Finding | None:
    """How the gain depends on the work, for the memory of the first main overlap."""
    of_kind = [each for each in everything if each.host_memory == mains[0].host_memory]
    told = [(each, best) for each in of_kind if (best := each.best) and best.speedup]
    if len(told) < 2:
        return None
    gains = []
    for each, best in told:
        uncertain = " (uncertain)" if each.gains == "cannot tell" else ""
        if best.speedup:
            gains.append(f"{best.speedup.median:.2f} times with {multiple_digits(each.work)}{uncertain}")
    base = mains[0].work.base
    copy = f"a copy of {memory_name(base)}" if base else "a copy"
    text = (
        f"The best speed-up of {memory_name(mains[0].host_memory)} by how many times as long as {copy} the work takes: "
        f"{', '.join(gains)}."
    )
    certain = [(each, best) for each, best in told if each.gains == "yes" and best.speedup]
    fix = ""
    if certain:
        most = max(certain, key=lambda pair: pair[1].speedup.median if pair[1].speedup else 0.0)
        fix = f"Overlap pays most where no stage outweighs the others; here with {work_words(most[0].work)}."
    return Finding("info", "overlap_work", text, fix=fix)
