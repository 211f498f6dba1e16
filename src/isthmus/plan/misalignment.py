"""What a method takes more where pieces or rows are aligned to a few bytes only."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from isthmus.analysis.pieces.alignment import AlignmentPair, alignment_pairs, alignment_unit, natural_unit
from isthmus.analysis.statistics.resample import DRAWS, Draws
from isthmus.analysis.statistics.surface import Spot
from isthmus.record import LayoutName, PiecesNeed, Run, SectionNeed

# Whose threads move one unit each, so that halving it doubles their accesses.
_BY_UNITS = ("kernel", "mapped_kernel", "pack_kernel", "device_pack")


@dataclass(frozen=True)
class Misalignment:
    """What the run has of pieces aligned like those of a need: to `unit` bytes, where `natural` would fit into each.

    `pairs` are of the need's direction and memory, those that resemble it most first.
    """

    unit: int
    natural: int
    pairs: tuple[AlignmentPair, ...] = field(default=(), repr=False)

    @property
    def is_measured(self) -> bool:
        """Whether nothing is lost, or the run says how much."""
        return self.unit >= self.natural or bool(self.pairs)

    def extra(self, method: str, spot: Spot) -> Draws:
        """Seconds that it costs the method beyond what aligned pieces take, none where the run has no such pair.

        The extra time of a piece is a line through those of the measured sizes and never falls with the size: so much
        for each piece, and so much for each byte. A single size is taken to be the worse of the two. Where a unit was
        not measured, the next smaller one stands for it.
        """
        alike = [pair for pair in self.pairs if pair.method == method]
        unit = max((pair.unit_bytes for pair in alike), default=0)
        best = {pair.each_bytes: _extra(pair) for pair in reversed(alike) if pair.unit_bytes == unit}
        if not best:
            return np.zeros(1 + DRAWS)
        sizes = sorted(best)
        found: Draws = spot.pieces * _line([best[size] for size in sizes], sizes, spot.each_bytes)
        return found

    def is_known_for(self, method: str) -> bool:
        """Whether the run says what it costs the method, or units do not matter to it."""
        return self.is_measured or method not in _BY_UNITS


def misalignment(run: Run, need: PiecesNeed | SectionNeed) -> Misalignment:
    """What the run has of the alignment that the need leaves: of its size, and of its pitches where it has some."""
    if isinstance(need, PiecesNeed):
        experiment, each = "batching", need.piece_bytes
        unit, layouts = alignment_unit(each), (need.host_layout, need.device_layout)
    else:
        experiment, each = "strided", need.width_bytes
        pitch = need.device_pitch_bytes or each
        unit = alignment_unit(each, need.pitch_bytes, pitch)
        layouts = _layout(each, need.pitch_bytes), _layout(each, pitch)
    natural = natural_unit(each)
    if unit >= natural:
        return Misalignment(unit, natural)
    pairs = [
        pair
        for pair in alignment_pairs(run)
        if (pair.direction, pair.host_memory) == (need.direction, need.source) and pair.unit_bytes <= unit
    ]
    pairs.sort(key=lambda pair: (pair.experiment != experiment, pair.layouts != layouts))
    return Misalignment(unit, natural, tuple(pairs))


def _extra(pair: AlignmentPair) -> Draws:
    """What a piece takes more, nothing where that may be chance: of a short transfer chance is much for each piece."""
    return pair.extra if pair.slowdown.low > 1 else np.zeros(1 + DRAWS)


def _layout(width: int, pitch: int) -> LayoutName:
    return "contiguous" if pitch == width else "strided"


def _line(extras: Sequence[Draws], sizes: Sequence[int], size: float) -> Draws:
    """The extra time of a piece of `size` bytes from that at measured sizes, which ascend; none is negative."""
    lowest, highest = np.maximum(extras[0], 0), np.maximum(extras[-1], 0)
    if len(sizes) == 1:
        return highest * max(size / sizes[0], 1.0)
    place = int(np.clip(np.searchsorted(sizes, size), 1, len(sizes) - 1))
    first, second = np.maximum(extras[place - 1], 0), np.maximum(extras[place], 0)
    slope = np.maximum(second - first, 0) / (sizes[place] - sizes[place - 1])
    found: Draws = np.maximum(first + slope * (size - sizes[place - 1]), 0)
    return np.minimum(found, lowest) if size < sizes[0] else found
