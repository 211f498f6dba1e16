"""Both directions at once against each alone, by the number of threads of each."""

from collections.abc import Sequence

from isthmus.model import REFERENCE_BYTES, BothWays, most_complete, thread_curves, threads_both_ways
from isthmus.record import Run, format_bytes
from isthmus.report.grid import Cell, Column, Grid, Group, Row, interval_cell
from isthmus.report.labels import kind_label, kind_rank, run_label
from isthmus.report.section import Part
from isthmus.report.threads_labels import mode_name, threads_label
from isthmus.report.threads_rates import MISSING

__all__ = ["both_part"]

_QUANTITIES = (("sum", "sum"), ("alone", "alone"), ("share %", "share, %"))


def both_part(runs: Sequence[Run]) -> Part | None:
    """One table with one way to divide each transfer; None where a direction alone is missing."""
    found = {index: _one_way_each(threads_both_ways(thread_curves(run))) for index, run in enumerate(runs)}
    everything = [each for measured in found.values() for each in measured]
    if not everything:
        return None
    kinds = sorted({each.curve.host_memory for each in everything}, key=kind_rank)
    shown = [index for index, measured in found.items() if measured]
    columns = [
        Column(f"{kind_label(kind)}\n{quantity}", f"{kind_label(kind)}, {name}", run_label(runs, index))
        for kind in kinds
        for quantity, name in _QUANTITIES
        for index in shown
    ]
    groups = []
    sizes = {each.curve.bytes for each in everything}
    for size in sorted(sizes, key=lambda size: (size != REFERENCE_BYTES, size)):
        cells = {
            (index, each.curve.host_memory, each.threads): each
            for index in shown
            for each in found[index]
            if each.curve.bytes == size
        }
        rows = [
            Row(
                threads_label("both", count),
                tuple(
                    _cell(runs[index], cells.get((index, kind, count)), quantity)
                    for kind in kinds
                    for quantity, _ in _QUANTITIES
                    for index in shown
                ),
            )
            for count in sorted({threads for _, _, threads in cells})
        ]
        groups.append(Group(f"{format_bytes(size)}: sum and alone in GB/s", tuple(rows)))
    return Part(
        title="Both ways at once against each way alone",
        note="Alone: the rates of H2D and of D2H with as many threads, measured one by one, added up. Share: both at "
        "once over that; 100 % where they do not hinder each other, 50 % where they take turns. "
        f"Threads wait to be woken, with {' or '.join(sorted({mode_name(each.curve) for each in everything}))}.",
        grids=(Grid("Sum of both at once, and of each alone", tuple(columns), tuple(groups), corner="Threads"),),
    )


def _one_way_each(measured: Sequence[BothWays]) -> list[BothWays]:
    """Of each kind and size the way to divide the transfers with the most numbers of threads."""
    found: dict[tuple[object, ...], list[BothWays]] = {}
    for each in measured:
        found.setdefault(each.curve.subject, []).append(each)
    chosen = {subject: most_complete(each.curve for each in same) for subject, same in found.items()}
    return [each for each in measured if each.curve is chosen[each.curve.subject]]


def _cell(run: Run, each: BothWays | None, quantity: str) -> Cell:
    if each is None:
        return MISSING
    interval = {"sum": each.sum, "alone": each.alone}.get(quantity, each.share)
    wide = interval.relative_half_width > run.settings.target_relative_half_width
    return interval_cell(interval, scale=100.0 if interval is each.share else 1e-9, wide=wide)
