"""A call of the library that no experiment times: rows by their numbers."""

import time
from typing import Protocol

import numpy as np
import numpy.typing as npt

import isthmus
from isthmus import _native
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Collected
from isthmus.machine.host import read_host
from isthmus.record import Case, LayoutName, PiecesNeed

# As in the batching experiment: every second row of twice as many, or as many of them at random.
_SLOTS_A_PIECE = 2
_POISON = 0xA5


class CheckedSubject(Protocol):
    """A subject whose data is checked once, which warms it up too; each sample is the whole need."""

    template: Case

    def seconds(self) -> float:
        """Of one sample."""

    def wrong(self) -> str:
        """What did not arrive as it was sent; empty where all did."""

    def visit(self, quota: Quota, collected: Collected) -> None:
        """Take samples; the first visit checks."""
        if not collected.count:
            collected.wrong = self.wrong()
            collected.verified = True
        collected.begin()
        begin = time.monotonic()
        samples = collected.samples.setdefault("host_seconds", [])
        for taken in range(quota.most):
            if taken >= quota.least and time.monotonic() - begin >= quota.seconds:
                break
            samples.append(self.seconds())


class RowsSubject(CheckedSubject):
    """`isthmus.copy_rows` with the pieces of a need as rows, by lists of their numbers on the host."""

    def __init__(self, device: _native.Device, need: PiecesNeed, seed: int) -> None:
        """Allocate and fill. Raises an IsthmusError when the device or the machine lacks the memory."""
        self.template = Case(
            experiment="plan", method="copy_rows", host_memory=need.source, bytes=need.pieces * need.piece_bytes
        )
        shape = (_SLOTS_A_PIECE * need.pieces, need.piece_bytes)
        random = np.random.default_rng(seed)
        self._session = isthmus.Session(device)
        self._host, self._buffer = self._rows_on_host(device, need, shape)
        self._there = self._session.empty(shape, np.uint8)
        host_rows, device_rows = (
            _rows(layout, need.pieces, random) for layout in (need.host_layout, need.device_layout)
        )
        self._data = random.integers(0, 256, shape, np.uint8)
        self._upwards = need.direction == "h2d"
        pair = (self._there, device_rows, self._host, host_rows)
        self._pair = pair if self._upwards else (*pair[2:], *pair[:2])

    def _rows_on_host(
        self, device: _native.Device, need: PiecesNeed, shape: tuple[int, int]
    ) -> tuple[npt.NDArray[np.uint8], _native.Buffer | None]:
        """With what empties it out of caches, where the CPU packs it: other methods begin without it there, too."""
        if need.source == "pinned":
            return isthmus.pinned_empty(shape, np.uint8, session=self._session), None
        buffer = device.allocate("pageable", shape[0] * shape[1])
        caches = read_host().cpu.last_level_cache_bytes or 0
        return buffer.host_array().reshape(shape), buffer if self.template.bytes <= caches else None

    def seconds(self) -> float:
        """Of the call."""
        if self._buffer is not None:
            self._buffer.evict()
        begin = time.perf_counter()
        self._session.copy_rows(*self._pair)
        return time.perf_counter() - begin

    def wrong(self) -> str:
        """Rows that did not arrive, and others that were written to."""
        to, to_rows, source, source_rows = self._pair
        expected = np.full_like(self._data, _POISON)
        self._session.copy(source, self._data)
        self._session.copy(to, expected)
        self._session.copy_rows(*self._pair)
        expected[to_rows] = self._data[source_rows]
        differing = int((self._session.to_host(to) != expected).any(axis=1).sum())
        return f"wrong data: {differing} of {len(expected)} rows differ" if differing else ""


def _rows(layout: LayoutName, pieces: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    if layout == "contiguous":
        return np.arange(pieces)
    if layout == "strided":
        return np.arange(0, _SLOTS_A_PIECE * pieces, _SLOTS_A_PIECE)
    return random.permutation(_SLOTS_A_PIECE * pieces)[:pieces]
