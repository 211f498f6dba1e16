"""Seconds of one method at any bytes, counts and pitches, from those that were measured."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from isthmus.analysis.statistics.resample import Draws, resampled_medians

_Array = npt.NDArray[np.float64]

# A factor of the pitch changes costs by less than the same factor of the other two: on the sections of one H200 that
# are no part of a grid, predictions were best with 0.2 to 1.
_PITCH_WEIGHT = 0.4
# Columns of the model: for each piece, for each byte, once.
_PESSIMISTIC = (1, 2, 0)


class Spot(NamedTuple):
    """So many pieces of so many bytes each; `pitch_bytes` from one to the next, 0 where that says nothing."""

    each_bytes: float
    pieces: float
    pitch_bytes: float = 0


@dataclass(frozen=True)
class CostSurface:
    """A cost model, and what measurements add to it, between them and beyond.

    The model is a fixed cost, one for each piece and one for each byte, none negative, with the least relative errors.
    The logarithm of measured over modelled seconds is then interpolated by ordinary kriging with a linear variogram in
    the logarithms of bytes, count and pitch: exact where something was measured, a straight line between two such
    spots on a line, and level beyond the last, where the model alone goes on.

    Source: N. Cressie, Statistics for Spatial Data, revised edition 1993, sections 3.2 and 3.4.
    """

    spots: tuple[Spot, ...]
    draws: Draws  # of the seconds, a row for each spot

    def draws_at(self, spot: Spot) -> Draws:
        """Seconds at a spot as an estimate, with the draws of what was measured; what is off the model is not in."""
        near = np.append(-_distances(_coordinates([spot]), self._places)[0], 1.0)
        weights = (self._inverse @ near)[:-1]
        draws: Draws = np.exp(weights @ self._over_model) * float(_features([spot])[0] @ self.costs)
        return draws

    def side(self, spot: Spot) -> Literal["", "below", "above"]:
        """``below`` or ``above`` where there is less, or more, of something than in any spot measured; else empty.

        Pieces, their bytes, and the bytes of all of them count.
        """
        measured = np.array([[each, count, each * count] for each, count, _ in self.spots])
        asked = np.array([spot.each_bytes, spot.pieces, spot.each_bytes * spot.pieces])
        if (asked > measured.max(axis=0)).any():
            return "above"
        return "below" if (asked < measured.min(axis=0)).any() else ""

    @cached_property
    def costs(self) -> _Array:
        """Seconds once, for each piece and for each byte."""
        return _least_squares(_features(self.spots) / self.draws[:, :1])

    @cached_property
    def _places(self) -> _Array:
        return _coordinates(self.spots)

    @cached_property
    def _over_model(self) -> Draws:
        modelled = _features(self.spots) @ self.costs
        return np.log(self.draws / modelled[:, np.newaxis])

    @cached_property
    def _inverse(self) -> _Array:
        """Inverse of the kriging system: generalised covariances, and weights that add up to one."""
        count = len(self.spots)
        system = np.ones((count + 1, count + 1))
        system[:count, :count] = -_distances(self._places, self._places)
        system[count, count] = 0
        return np.asarray(np.linalg.inv(system), dtype=np.float64)  # NumPy's releases declare it differently.


def cost_surface(samples: Mapping[Spot, Sequence[float]], *, known_within: float = 0.0) -> CostSurface:
    """The surface through the medians of the samples (seconds) at each spot; of bytes and counts that are positive.

    No median counts as known better than within the share `known_within`, as `resampled_medians` says. Raises
    ValueError without a spot, or when one has no samples.
    """
    if not samples:
        raise ValueError("a cost surface needs at least one measured spot")
    draws = resampled_medians(list(samples.values()), known_within=known_within)
    return CostSurface(tuple(samples), draws)


def _features(spots: Sequence[Spot]) -> _Array:
    return np.array([[1.0, spot.pieces, spot.pieces * spot.each_bytes] for spot in spots])


def _coordinates(spots: Sequence[Spot]) -> _Array:
    coordinates: _Array = np.log([[each, count, max(pitch, 1.0)] for each, count, pitch in spots])
    return coordinates * [1, 1, _PITCH_WEIGHT]


def _distances(ours: _Array, theirs: _Array) -> _Array:
    distances: _Array = np.linalg.norm(ours[:, np.newaxis] - theirs[np.newaxis], axis=2)
    return distances


def _least_squares(rows: _Array) -> _Array:
    """The coefficients, none negative, whose sums over each row come nearest to one.

    There are three, so that every choice of those that are not zero can be tried. Where measurements cannot tell what
    is paid once from what is paid for each piece, it is taken to be for each: hardly anything gets cheaper by hope.
    """
    best, least = np.zeros(rows.shape[1]), math.inf
    for count in range(1, rows.shape[1] + 1):
        for chosen in combinations(_PESSIMISTIC, count):
            columns = rows[:, chosen]
            # Seconds for each byte are a billionth of others.
            scale = columns.max(axis=0)
            solution = np.linalg.lstsq(columns / scale, np.ones(len(rows)), rcond=None)[0] / scale
            error = float(np.sum((columns @ solution - 1) ** 2))
            if (solution >= 0).all() and error < least * (1 - 1e-9):
                best, least = np.zeros(rows.shape[1]), error
                best[list(chosen)] = solution
    return best
