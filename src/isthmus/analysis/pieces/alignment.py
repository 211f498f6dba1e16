"""What it costs that pieces or rows are no multiple of 16 bytes: their times beside those of slightly smaller ones."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from isthmus.analysis.statistics.contrast import ratio
from isthmus.analysis.statistics.curve import Point, case_point, is_resolved
from isthmus.analysis.statistics.once import once
from isthmus.analysis.statistics.resample import Draws, resampled_medians
from isthmus.record import Case, Direction, Interval, LayoutName, Run

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


@dataclass(frozen=True)
class AlignmentPair:
    """One method's time for pieces that only `unit_bytes` divide, and for as many that are `unit_bytes` smaller.

    `layouts` are the host's and the device's. Mapped memory stands in for pinned memory, in the method's name, where
    kernels reach no other. Neither is of wrong data.
    """

    experiment: str
    method: str
    direction: Direction
    host_memory: str
    layouts: tuple[LayoutName, LayoutName]
    unit_bytes: int
    each_bytes: int
    pieces: int
    misaligned: Point
    aligned: Point

    @property
    def slowdown(self) -> Interval:
        """How many times as long the misaligned ones take."""
        return ratio(self.misaligned.seconds, self.aligned.seconds)

    @cached_property
    def extra(self) -> Draws:
        """What a misaligned piece takes more, in seconds, with its draws."""
        target = self.aligned.target_relative_half_width
        series = [self.misaligned.samples, self.aligned.samples]
        more, less = resampled_medians(series, known_within=target)
        found: Draws = (more - less) / self.pieces
        return found


@once()
def alignment_pairs(run: Run) -> Sequence[AlignmentPair]:
    """Every pair whose two cases a run measured in `batching` or `strided`."""
    target = run.settings.target_relative_half_width
    cases = [case for case in run.cases if is_resolved(case)]
    found = []
    for case, twin in _twins(cases):
        points = [case_point(each, target) for each in (case, twin)]
        if case.direction is None or any(point.verified == "no" for point in points):
            continue
        is_mapped = case.host_memory == "mapped"
        found.append(
            AlignmentPair(
                experiment=case.experiment,
                method=f"mapped_{case.method}" if is_mapped else case.method,
                direction=case.direction,
                host_memory="pinned" if is_mapped else case.host_memory,
                layouts=(case.host_layout, case.device_layout),
                unit_bytes=_unit(case),
                each_bytes=case.width_bytes or 0,
                pieces=case.pieces or case.rows or 1,
                misaligned=points[0],
                aligned=points[1],
            )
        )
    return found


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
