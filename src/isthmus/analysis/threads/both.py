"""Both directions at once against each alone, by the number of threads of each."""

from collections.abc import Sequence

from isthmus.analysis.labels import kind_label, run_label
from isthmus.analysis.threads.both_ways import BothWays, threads_both_ways
from isthmus.analysis.threads.labels import mode_name, threads_label
from isthmus.analysis.threads.model import REFERENCE_BYTES, most_complete, thread_curves
from isthmus.document.grid import Cell, Column, Grid, Group, Row, interval_cell, missing
from isthmus.document.section import Part
from isthmus.language import enumerated, say, sentences
from isthmus.record import Run, format_bytes, kind_rank

_QUANTITIES = ("sum", "alone", "share")


def both_part(runs: Sequence[Run]) -> Part | None:
    """One table with one way to divide each transfer; None where a direction alone is missing."""
    found = {index: _one_way_each(threads_both_ways(thread_curves(run))) for index, run in enumerate(runs)}
    everything = [each for measured in found.values() for each in measured]
    if not everything:
        return None
    kinds = sorted({each.curve.host_memory for each in everything}, key=kind_rank)
    shown = [index for index, measured in found.items() if measured]
    columns = [
        Column(
            f"{kind_label(kind)}\n{say(f'threads_report.heading_{quantity}')}",
            say("common.comma").join([kind_label(kind), say(f"threads_report.column_{quantity}")]),
            run_label(runs, index),
        )
        for kind in kinds
        for quantity in _QUANTITIES
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
                    for quantity in _QUANTITIES
                    for index in shown
                ),
            )
            for count in sorted({threads for _, _, threads in cells})
        ]
        groups.append(Group(say("threads_report.both_group", size=format_bytes(size)), tuple(rows)))
    modes = enumerated(sorted({mode_name(each.curve) for each in everything}), "or")
    title, corner = say("threads_report.both_grid"), say("threads_report.corner_threads")
    return Part(
        title=say("threads_report.both"),
        note=sentences([say("threads_report.both_note"), say("threads_report.both_modes", modes=modes)]),
        grids=(Grid(title, tuple(columns), tuple(groups), corner=corner),),
    )


def _one_way_each(measured: Sequence[BothWays]) -> list[BothWays]:
    """For each kind and size the way to divide the transfers with the most numbers of threads."""
    found: dict[tuple[object, ...], list[BothWays]] = {}
    for each in measured:
        found.setdefault(each.curve.subject, []).append(each)
    chosen = {subject: most_complete(each.curve for each in same) for subject, same in found.items()}
    return [each for each in measured if each.curve is chosen[each.curve.subject]]


def _cell(run: Run, each: BothWays | None, quantity: str) -> Cell:
    if each is None:
        return missing()
    interval = {"sum": each.sum, "alone": each.alone}.get(quantity, each.share)
    wide = interval.relative_half_width > run.settings.target_relative_half_width
    return interval_cell(interval, scale=100.0 if interval is each.share else 1e-9, wide=wide)
