"""What the strided experiment says: what to move known sections with, and where the driver's 2-D copy falls behind."""

from collections.abc import Iterable, Sequence

from isthmus.model.contrast import MATTERS, above
from isthmus.model.finding import Finding
from isthmus.model.phrases import about_bytes, capitalised, enumerated, link_rate, memory_name
from isthmus.model.strided import DRIVER, WHOLE, StridedCell, strided_cells
from isthmus.model.strided_grid import strided_grids
from isthmus.model.strided_grid_findings import grid_findings
from isthmus.model.strided_padding import paddings
from isthmus.model.strided_words import (
    direction_words,
    factor_words,
    grid_words,
    method_words,
    section_kind,
    section_words,
    sides_words,
)
from isthmus.record import Run, format_bytes, format_seconds

__all__ = ["strided_findings", "strided_verdict"]

_KINDS = ("column", "halo", "box", "face")
_ADVICE = {
    "section": "keep the driver's 2-D or 3-D copy.",
    "copies": "enqueue one copy per row.",
    "batch": "hand all rows to the driver's batch call (cuMemcpyBatchAsync).",
    "device_pack": "pack or unpack the rows with a kernel on the device, and move them with one plain copy.",
    "kernel": "let a kernel read or write the rows where they are in host memory.",
    "mapped_kernel": "keep the host's side in mapped memory, and let a kernel read or write it there.",
    "pack": "pack or unpack the rows on the host, through a page-locked buffer that is kept.",
    "pack_threads": "let some threads pack or unpack the rows on the host, through page-locked buffers that are kept.",
    "pack_kernel": "let some threads pack or unpack the rows on the host, in page-locked buffers that are kept, which "
    "kernels read or write over the link.",
}


def strided_findings(run: Run) -> list[Finding]:
    """The findings about sections that programs know, and about the grid of widths and rows."""
    cells = strided_cells(run)
    grids = strided_grids(cells)
    found = [_known(run, cells, _typical(cells, kind)) for kind in _KINDS]
    return [*(finding for finding in (*found, _padding(cells)) if finding), *grid_findings(run, grids)]


def strided_verdict(run: Run) -> str:
    """What to take away; empty where no sections were measured."""
    cells = strided_cells(run)
    for kind in _KINDS:
        # One way and memory are enough for a verdict: those that the driver's copy is slowest at.
        chosen = [cell for cell in _typical(cells, kind) if DRIVER in cell.points]
        if chosen:
            cell = max(chosen, key=lambda each: (each.host_memory == "pinned", _gain(each)))
            return f"{section_words(cell.shape)}, {_where(cell)}: {_use(cell)}."
    grids = strided_grids(cells)
    if grids:
        cell = max(grids[0].measured.values(), key=_gain)
        return f"{section_words(cell.shape)}, {grid_words(grids[0])}, {_where(cell)}: {_use(cell)}."
    if not cells:
        return ""
    return "of sections of arrays only one method each was measured, so there is nothing to compare."


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


def _where(cell: StridedCell) -> str:
    prepositions = {"h2d": "from", "d2h": "to"}
    return f"{direction_words(cell.direction)} {prepositions[cell.direction]} {memory_name(cell.host_memory)}"


def _use(cell: StridedCell) -> str:
    if not _gains(cell):
        best = DRIVER if DRIVER in cell.points else cell.fastest
        time = format_seconds(cell.points[best].seconds.median)
        return f"use {method_words(best, cell)}, which takes {time}; nothing measured beats it for certain"
    gain = cell.gain(cell.fastest)
    assert gain is not None
    return (
        f"use {method_words(cell.fastest, cell)}, {factor_words(gain)} as fast as {method_words(DRIVER, cell)} "
        f"({format_seconds(cell.best.seconds.median)} against {format_seconds(cell.points[DRIVER].seconds.median)})"
    )


def _known(run: Run, cells: Sequence[StridedCell], chosen: Sequence[StridedCell]) -> Finding | None:
    if not chosen:
        return None
    first = chosen[0]
    parts = []
    for cell in chosen:
        tied = f" ({enumerated([method_words(each, cell) for each in cell.as_fast], 'or')} as fast)"
        gain = cell.gain(cell.fastest)
        text = f"{_where(cell)} {format_seconds(cell.best.seconds.median)} by {method_words(cell.fastest, cell)}"
        text += tied if cell.as_fast else ""
        if gain and _gains(cell):
            driver = format_seconds(cell.points[DRIVER].seconds.median)
            text += f", {factor_words(gain)} as fast as {method_words(DRIVER, cell)} with its {driver}"
        parts.append(text)
    sides = sides_words(*first.layouts)
    gaining = [cell for cell in chosen if _gains(cell)]
    return Finding(
        "info",
        f"strided_{section_kind(first.shape)}",
        f"{capitalised(section_words(first.shape))}, {sides}: {'; '.join([*parts, *_whole(cells, first)])}.",
        cause=_driver_cause(run, max(gaining, key=_gain)) if gaining else "",
        fix=_advice(chosen),
    )


def _advice(cells: Iterable[StridedCell]) -> str:
    """What to do each way, as the ways differ in it; without a gain anywhere there is nothing to tell apart."""
    ways: dict[str, list[str]] = {}
    for cell in cells:
        method = cell.fastest if _gains(cell) else DRIVER
        if DRIVER in cell.points and method in _ADVICE:
            ways.setdefault(method, []).append(_where(cell))
    if list(ways) == [DRIVER]:
        return capitalised(_ADVICE[DRIVER])
    told = ((enumerated(list(dict.fromkeys(where))), _ADVICE[method]) for method, where in ways.items())
    return " ".join(f"{where}: {advice}" for where, advice in told)


def _whole(cells: Sequence[StridedCell], known: StridedCell) -> list[str]:
    """What it takes to copy everything between the rows too, where both sides have the array."""
    found = [
        cell for cell in cells if cell.shape[:3] == known.shape[:3] and cell.shape.is_known and WHOLE in cell.points
    ]
    if not found:
        return []
    best = min(found, key=lambda cell: cell.points[WHOLE].seconds.median)
    time = format_seconds(best.points[WHOLE].seconds.median)
    return [
        f"copying {about_bytes(best.moved[WHOLE])} with all between the rows takes {time} {_where(best)}, and "
        "overwrites what lies between them there"
    ]


def _driver_cause(run: Run, cell: StridedCell) -> str:
    """What the driver's copy spends on a row against what its bytes need, where that is far less."""
    each = cell.points[DRIVER].seconds.median / cell.rows
    link = link_rate(run)
    if not link or cell.shape.width_bytes / link > each / 2:
        return ""
    return (
        f"{capitalised(method_words(DRIVER, cell))} takes {format_seconds(each)} a row of "
        f"{format_bytes(cell.shape.width_bytes)}, for which the link needs "
        f"{format_seconds(cell.shape.width_bytes / link)}."
    )


def _padding(cells: Sequence[StridedCell]) -> Finding | None:
    found = [each for each in paddings(cells) if DRIVER in each.slowdowns]
    if not found:
        return None
    shape = found[0].padded.shape
    by_answer: dict[str, list[str]] = {}
    for each in found:
        slowdown = each.slowdowns[DRIVER]
        different = slowdown.low > 1 or slowdown.high < 1
        text = f"{factor_words(slowdown)} as long" if different else "no longer for certain"
        by_answer.setdefault(text, []).append(_where(each.padded))
    told = [f"{answer} {enumerated(ways)}" for answer, ways in by_answer.items()]
    return Finding(
        "info",
        "strided_padding",
        f"Rows of {format_bytes(shape.width_bytes)} that are padded to {format_bytes(shape.device_pitch_bytes)} on the "
        f"device, as pitched allocations pad them, take the driver's copy {'; '.join(told)}.",
    )
