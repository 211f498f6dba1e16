"""Devices that are slower than their like: in what, how much, and whether alone or only together with others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from isthmus.compare import Cause, Difference, GroupKey
from isthmus.fleet.cells import CellKey, unseen_spread
from isthmus.fleet.significance import named_devices, slow_p_values
from isthmus.record import Phase

# Smaller losses do not matter, however significant they are.
MARGIN = 0.05
# What a pattern of slow kinds speaks for where no fact does.
Pattern = Literal["sharing", "neighbours", "link", "host", "everything", "some"]
Severity = Literal["severe", "clear", "slight"]
_SEVERE, _CLEAR = 0.25, 0.10
# A single kind that loses so much is worth a second look.
_MUCH = 0.2
# The share of devices named as perhaps slow that are so by chance.
_PERHAPS_RATE = 0.1


@dataclass(frozen=True)
class SlowKind:
    """A kind of transfer in which a device is slow; `lost` is the share of its rate that is missing."""

    phase: Phase
    kind: GroupKey
    lost: float


@dataclass(frozen=True)
class Outlier:
    """A slow device, by its place in the fleet; `slow` has what it loses most in first.

    `everything` are all kinds that were judged with the logarithm of time over the typical one, for what explains them.
    `neighbours` are the places of devices that are slow with it when all work, and share something with it. `causes`
    are facts that differ and explain something, the best first; `others` differ, too, and explain nothing that is
    known; `pattern` is what is left where there are none.
    """

    device: int
    slow: tuple[SlowKind, ...]
    everything: tuple[tuple[CellKey, float, bool], ...]
    neighbours: tuple[int, ...] = ()
    causes: tuple[Cause, ...] = ()
    others: tuple[Difference, ...] = ()
    pattern: Pattern = "some"
    command: str = field(default="", compare=False)

    @property
    def lost(self) -> float:
        """The largest share of a rate that is missing."""
        return self.slow[0].lost

    @property
    def severity(self) -> Severity:
        """How much that is."""
        return "severe" if self.lost >= _SEVERE else "clear" if self.lost >= _CLEAR else "slight"

    @property
    def phases(self) -> tuple[Phase, ...]:
        """In which phases it is slow."""
        phases = {each.phase for each in self.slow}
        return tuple(phase for phase in ("alone", "together") if phase in phases)

    @property
    def directions(self) -> tuple[str, ...]:
        """In which directions; none where nothing crosses a link."""
        return tuple(
            direction
            for direction in ("h2d", "d2h", "both", "peer")
            if any(each.kind.direction == direction for each in self.slow)
        )

    @property
    def cause(self) -> str:
        """The likeliest cause as one word that does not change with the language."""
        if self.neighbours:
            return "neighbours"
        return self.causes[0].difference.topic if self.causes else self.pattern


def found_outliers(
    residuals: npt.NDArray[np.float64], cells: Sequence[CellKey], members: Sequence[int], margin: float = MARGIN
) -> list[Outlier]:
    """The slow devices of one group, those that lose most first.

    `residuals` has a row a cell and a column for each of `members`.
    """
    p = slow_p_values(residuals, [unseen_spread(cell.kind) for cell in cells])
    _, slow = named_devices(p)
    # Half of a group may be slower than the other half; the middle of what is measured is what counts.
    return _outliers(residuals, slow & (np.nan_to_num(residuals) >= math.log1p(margin)), cells, members)


def perhaps_slow(
    residuals: npt.NDArray[np.float64], cells: Sequence[CellKey], members: Sequence[int], certain: Sequence[Outlier]
) -> list[Outlier]:
    """Devices that lose much without being certainly slow: among a dozen of them chance may do that."""
    p = slow_p_values(residuals, [unseen_spread(cell.kind) for cell in cells])
    _, slow = named_devices(p, _PERHAPS_RATE)
    lost = -np.expm1(-np.nan_to_num(residuals))
    # Much in a single kind counts as well, though other kinds that are right speak against it.
    severe = (np.nan_to_num(p, nan=1.0) <= _PERHAPS_RATE / len(members)) & (lost >= _MUCH)
    named = {each.device for each in certain}
    suspects = _outliers(residuals, (slow & (lost >= _CLEAR)) | severe, cells, members)
    return [each for each in suspects if each.device not in named]


def _outliers(
    residuals: npt.NDArray[np.float64], slow: npt.NDArray[np.bool_], cells: Sequence[CellKey], members: Sequence[int]
) -> list[Outlier]:
    outliers = []
    for column in np.flatnonzero(slow.any(axis=0)).tolist():
        rows = np.flatnonzero(slow[:, column]).tolist()
        kinds = [SlowKind(cells[row].phase, cells[row].kind, -math.expm1(-residuals[row, column])) for row in rows]
        kinds.sort(key=lambda each: -each.lost)
        everything = tuple(
            (cells[row], float(residuals[row, column]), bool(slow[row, column]))
            for row in np.flatnonzero(np.isfinite(residuals[:, column])).tolist()
        )
        outliers.append(Outlier(members[column], tuple(kinds), everything))
    return sorted(outliers, key=lambda each: -each.lost)
