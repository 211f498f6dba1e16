"""Pieces and rows that are no multiple of 16 bytes, and the slightly smaller ones that they were measured next to."""

from collections.abc import Sequence

from isthmus.record import Case

_EXPERIMENTS = {"batching", "strided"}
# Nothing moves in larger words: those of a GPU's threads have up to 16 bytes.
_LARGEST_UNIT = 16


def alignment_unit(*sizes: int) -> int:
    """The largest power of two, 16 at most, that divides all sizes, pitches and addresses given; they are positive."""
    return next(unit for unit in (_LARGEST_UNIT, 8, 4, 2, 1) if not any(size % unit for size in sizes))


def natural_unit(each_bytes: int) -> int:
    """The largest unit that fits into a piece, 16 at most: what the best pitch and size near it would be aligned to."""
    return min(1 << each_bytes.bit_length() - 1, _LARGEST_UNIT)


def without_misaligned(cases: Sequence[Case]) -> list[Case]:
    """Drops misaligned cases whose aligned neighbour, smaller by a unit, was measured too."""
    known = {_key(case) for case in cases if _is_flat(case)}
    return [case for case in cases if not (_is_flat(case) and _is_extra(case, known))]


def _is_flat(case: Case) -> bool:
    return case.experiment in _EXPERIMENTS and bool(case.width_bytes) and case.slices is None


def _is_extra(case: Case, known: set[tuple[object, ...]]) -> bool:
    width = case.width_bytes or 0
    sizes = (width, case.stride_bytes, case.pitch_bytes, case.device_pitch_bytes)
    unit = alignment_unit(*(size for size in sizes if size))
    return unit < natural_unit(width) and _key(case, less=unit) in known


def _key(case: Case, less: int = 0) -> tuple[object, ...]:
    """What tells a case from others; as of pieces that are smaller by `less`, with pitches that follow suit."""
    width = case.width_bytes or 0
    pitches = (case.stride_bytes, case.pitch_bytes, case.device_pitch_bytes)
    smaller = (pitch and (pitch - pitch // width * less if pitch % width == 0 else pitch) for pitch in pitches)
    about = (case.experiment, case.method, case.direction, case.host_memory, case.host_layout, case.device_layout)
    return *about, case.pieces, case.rows, width - less, *smaller
