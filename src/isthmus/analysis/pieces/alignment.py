"""Pieces and rows that are no multiple of 16 bytes, and the slightly smaller ones that they were measured beside."""

from collections.abc import Iterable, Sequence

from isthmus.record import Case

_EXPERIMENTS = {"batching", "strided"}
# Nothing moves in larger words: those of a GPU's threads have up to 16 bytes.
LARGEST_UNIT = 16


def alignment_unit(*sizes: int) -> int:
    """The largest power of two, 16 at most, that divides all sizes, pitches and addresses given; they are positive."""
    unit = LARGEST_UNIT
    while any(size % unit for size in sizes):
        unit //= 2
    return unit


def natural_unit(each_bytes: int) -> int:
    """The largest unit that fits into a piece, 16 at most: what the best pitch and size near it would be aligned to."""
    return min(1 << each_bytes.bit_length() - 1, LARGEST_UNIT)


def without_misaligned(cases: Sequence[Case]) -> list[Case]:
    """The cases but for those that only show what alignment costs: whose twin without it is there too."""
    shown = {id(case) for case, _ in _twins(cases)}
    return [case for case in cases if id(case) not in shown]


def _twins(cases: Iterable[Case]) -> list[tuple[Case, Case]]:
    """Cases of pieces that end off their natural unit, each with the one whose pieces are that little smaller."""
    known = {
        _key(case): case
        for case in cases
        if case.experiment in _EXPERIMENTS and case.width_bytes and case.slices is None
    }
    found = []
    for case in known.values():
        unit = _unit(case)
        if unit < natural_unit(case.width_bytes or 0) and (twin := known.get(_key(case, less=unit))):
            found.append((case, twin))
    return found


def _unit(case: Case) -> int:
    sizes = (case.width_bytes, case.stride_bytes, case.pitch_bytes, case.device_pitch_bytes)
    return alignment_unit(*(size for size in sizes if size))


def _key(case: Case, less: int = 0) -> tuple[object, ...]:
    """What tells a case from others; as of pieces that are smaller by `less`, with pitches that follow suit."""
    width = case.width_bytes or 0
    pitches = (case.stride_bytes, case.pitch_bytes, case.device_pitch_bytes)
    smaller = (pitch and (pitch - pitch // width * less if pitch % width == 0 else pitch) for pitch in pitches)
    about = (case.experiment, case.method, case.direction, case.host_memory, case.host_layout, case.device_layout)
    return *about, case.pieces, case.rows, width - less, *smaller
