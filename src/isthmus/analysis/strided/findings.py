"""What the strided experiment says: what to move known sections with, and where the driver's 2-D copy falls behind."""

from collections.abc import Iterable, Sequence

from isthmus.analysis.phrases import about_bytes, factor_words, link_rate
from isthmus.analysis.statistics.contrast import MATTERS, above
from isthmus.analysis.strided.grid import strided_grids
from isthmus.analysis.strided.grid_findings import grid_findings
from isthmus.analysis.strided.model import DRIVER, WHOLE, StridedCell, strided_cells
from isthmus.analysis.strided.padding import paddings
from isthmus.analysis.strided.words import (
    grid_words,
    method_words,
    section_kind,
    section_words,
    sides_words,
    tied_words,
    where_words,
)
from isthmus.document.finding import Finding, Takeaway
from isthmus.language import can_say, capitalised, enumerated, say, sentences
from isthmus.record import Run, format_bytes, format_seconds

__all__ = ["findings", "takeaway"]

_KINDS = ("column", "halo", "box", "face")


def findings(run: Run) -> list[Finding]:
    """The findings about sections that programs know, and about the grid of widths and rows."""
    cells = strided_cells(run)
    grids = strided_grids(cells)
    found = [_known(run, cells, _typical(cells, kind)) for kind in _KINDS]
    return [*(finding for finding in (*found, _padding(cells)) if finding), *grid_findings(run, grids)]


def takeaway(run: Run) -> Takeaway | None:
    """What to take away; None where no sections were measured."""
    cells = strided_cells(run)
    for kind in _KINDS:
        # One way and memory are enough for a verdict: those that the driver's copy is slowest at.
        chosen = [cell for cell in _typical(cells, kind) if DRIVER in cell.points]
        if chosen:
            cell = max(chosen, key=lambda each: (each.host_memory == "pinned", _gain(each)))
            return _takeaway(cell, section_words(cell.shape))
    grids = strided_grids(cells)
    if grids:
        cell = max(grids[0].measured.values(), key=_gain)
        section = say("strided.of_grid", section=section_words(cell.shape), grid=grid_words(grids[0]))
        return _takeaway(cell, section)
    return Takeaway(say("strided.one_method")) if cells else None


def _takeaway(cell: StridedCell, section: str) -> Takeaway:
    """What moves a section fastest, and the driver's copy where nothing certainly beats it."""
    gain = cell.gain(cell.fastest) if _gains(cell) else None
    best = cell.fastest if gain or DRIVER not in cell.points else DRIVER
    told = {
        "section": section,
        "where": where_words(cell),
        "time": format_seconds(cell.points[best].seconds.median),
        "method": method_words(best, cell),
    }
    if gain:
        driver, time = method_words(DRIVER, cell), format_seconds(cell.points[DRIVER].seconds.median)
        does = say("strided.does_gain", **told, times=factor_words(gain), driver=driver, driver_time=time)
    else:
        does = say("strided.does_none", **told)
    key = f"strided.advice_{best}"
    return Takeaway(does, capitalised(say(key)) if can_say(key) else "")


def _typical(cells: Iterable[StridedCell], kind: str) -> list[StridedCell]:
    """The narrowest known sections of a kind whose rows lie apart on the device alone; on both sides where none do."""
    of_kind = [cell for cell in cells if section_kind(cell.shape) == kind and len(cell.ranking) > 1]
    narrowest = min((cell.shape.width_bytes for cell in of_kind), default=0)
    of_kind = [cell for cell in of_kind if cell.shape.width_bytes == narrowest]
    return [cell for cell in of_kind if cell.layouts == ("contiguous", "strided")] or [
        cell for cell in of_kind if cell.host_layout == "strided"
    ]


def _gain(cell: StridedCell) -> float:
    gain = cell.gain(cell.fastest)
    return gain.median if gain else 0.0


def _gains(cell: StridedCell) -> bool:
    """Whether something beats the driver's copy for certain, and by enough to act on."""
    return DRIVER in cell.points and above(cell.best, cell.points[DRIVER]) and _gain(cell) >= MATTERS


def _known(run: Run, cells: Sequence[StridedCell], chosen: Sequence[StridedCell]) -> Finding | None:
    if not chosen:
        return None
    first = chosen[0]
    gaining = [cell for cell in chosen if _gains(cell)]
    return Finding(
        "info",
        f"strided_{section_kind(first.shape)}",
        say(
            "strided.known",
            section=capitalised(section_words(first.shape)),
            sides=sides_words(*first.layouts),
            ways=say("common.between_statements").join([*map(_known_way, chosen), *_whole(cells, first)]),
        ),
        cause=_driver_cause(run, max(gaining, key=_gain)) if gaining else "",
        fix=_advice(chosen),
    )


def _known_way(cell: StridedCell) -> str:
    told = {
        "where": where_words(cell),
        "time": format_seconds(cell.best.seconds.median),
        "method": method_words(cell.fastest, cell),
        "tied": tied_words(cell.as_fast, cell),
    }
    gain = cell.gain(cell.fastest)
    if not gain or not _gains(cell):
        return say("strided.known_way", **told)
    driver, time = method_words(DRIVER, cell), format_seconds(cell.points[DRIVER].seconds.median)
    return say("strided.known_gain", **told, times=factor_words(gain), driver=driver, driver_time=time)


def _advice(cells: Iterable[StridedCell]) -> str:
    """What to do each way, as the ways differ in it; without a gain anywhere there is nothing to tell apart."""
    ways: dict[str, list[str]] = {}
    for cell in cells:
        method = cell.fastest if _gains(cell) else DRIVER
        if DRIVER in cell.points and can_say(key := f"strided.advice_{method}"):
            ways.setdefault(key, []).append(where_words(cell))
    if list(ways) == [f"strided.advice_{DRIVER}"]:
        return capitalised(say(f"strided.advice_{DRIVER}"))
    return sentences(
        say("strided.advice_for", where=enumerated(list(dict.fromkeys(where))), advice=say(key))
        for key, where in ways.items()
    )


def _whole(cells: Sequence[StridedCell], known: StridedCell) -> list[str]:
    """What it takes to copy everything between the rows too, where both sides have the array."""
    found = [
        cell for cell in cells if cell.shape[:3] == known.shape[:3] and cell.shape.is_known and WHOLE in cell.points
    ]
    if not found:
        return []
    best = min(found, key=lambda cell: cell.points[WHOLE].seconds.median)
    time = format_seconds(best.points[WHOLE].seconds.median)
    return [say("strided.whole", size=about_bytes(best.moved[WHOLE]), time=time, where=where_words(best))]


def _driver_cause(run: Run, cell: StridedCell) -> str:
    """What the driver's copy spends on a row against what its bytes need, where that is far less."""
    each = cell.points[DRIVER].seconds.median / cell.rows
    link = link_rate(run)
    if not link or cell.shape.width_bytes / link > each / 2:
        return ""
    return say(
        "strided.driver_cause",
        driver=capitalised(method_words(DRIVER, cell)),
        time=format_seconds(each),
        width=format_bytes(cell.shape.width_bytes),
        needed=format_seconds(cell.shape.width_bytes / link),
    )


def _padding(cells: Sequence[StridedCell]) -> Finding | None:
    found = [each for each in paddings(cells) if DRIVER in each.slowdowns]
    if not found:
        return None
    # By how many times as long it takes; nothing where that is not certain.
    ways: dict[str, list[str]] = {}
    for each in found:
        slowdown = each.slowdowns[DRIVER]
        different = slowdown.low > 1 or slowdown.high < 1
        ways.setdefault(factor_words(slowdown) if different else "", []).append(where_words(each.padded))
    answers = [
        say("strided.padding_longer", times=times, ways=enumerated(where))
        if times
        else say("strided.padding_alike", ways=enumerated(where))
        for times, where in ways.items()
    ]
    shape = found[0].padded.shape
    return Finding(
        "info",
        "strided_padding",
        say(
            "strided.padding",
            width=format_bytes(shape.width_bytes),
            pitch=format_bytes(shape.device_pitch_bytes),
            answers=say("common.between_statements").join(answers),
        ),
    )
