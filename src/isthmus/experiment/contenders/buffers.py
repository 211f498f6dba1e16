"""One buffer that is got, moved as often as it is used and given back, by one method."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from isthmus import _native
from isthmus.experiment.contenders.library import CheckedSubject
from isthmus.experiment.engine.buffers import wrong_data
from isthmus.experiment.engine.rounds import Subject
from isthmus.machine.devices import OpenDevice
from isthmus.record import BufferNeed, BufferWay, Case, buffer_ways_of

# A thousand uses of a large buffer take minutes: so much of them is timed, and counts for the rest.
_USES_SECONDS = 0.03
# Drivers carve smaller blocks out of one, so that those which are held would change what getting another costs.
_CARVED_BYTES = 4 << 20
# Longer ones need no run in vain before.
_WARM_SECONDS = 0.05


def buffers(device: OpenDevice, need: BufferNeed, seed: int) -> dict[str, Callable[[], Subject]]:
    """Each method, to be made when it is first timed, so that one which the device has not is no trouble to others."""
    shared = _Memory(device.native, max(need.bytes, _CARVED_BYTES))
    return {
        way.name: partial(_BufferSubject, shared, need, way, seed)
        for way in buffer_ways_of(need.source, need.direction)
    }


def timed_uses(uses: int, seconds: float) -> int:
    """How many of the uses are timed, which take so long each."""
    return min(uses, max(1, int(_USES_SECONDS / max(seconds, 1e-7))))


@dataclass
class _Memory:
    """One buffer of each kind, shared by the methods."""

    device: _native.Device
    bytes: int
    kinds: dict[str, _native.Buffer] = field(default_factory=dict)

    def of(self, kind: str) -> _native.Buffer:
        if kind not in self.kinds:
            self.kinds[kind] = self.device.allocate(kind, self.bytes)
        return self.kinds[kind]


class Held:
    """Memory that is got, touched and given back, timed by the core on memory of its own, of the same size.

    A program in Python would add to each call what is worth a small copy.
    """

    def __init__(self, device: _native.Device, kinds: tuple[str, ...], size: int) -> None:
        self._cases = [_native.create_allocation(device, kind, size) for kind in kinds]
        self._seconds = [1.0] * len(kinds)

    def seconds(self) -> float:
        """What it takes once."""
        for place, case in enumerate(self._cases):
            samples = case.run(int(self._seconds[place] < _WARM_SECONDS), 1, 1, 0.0)
            phases = (samples[phase] for phase in ("allocate", "touch", "free"))
            self._seconds[place] = sum(each[0] for each in phases if each)
        return sum(self._seconds)


class _BufferSubject(CheckedSubject):
    """Every sample is the whole need: getting memory, all uses one after the other, giving it back."""

    def __init__(self, shared: _Memory, need: BufferNeed, way: BufferWay, seed: int) -> None:
        self.template = Case(experiment="plan", method=way.name, host_memory=way.memory, bytes=need.bytes)
        self._need, self._way, self._seed, self._seconds_a_use = need, way, seed, 0.0
        self._held = Held(shared.device, way.held_for(need.bytes), need.bytes)
        self._memory = shared.of(way.memory)
        self._on_device = None if way.method == "prefetch" else shared.of("device")
        directions = ("h2d", "d2h") if need.direction == "both" else (need.direction,)
        moved = [(each, need.uses) for each in directions]
        if way.method == "prefetch":
            # Pages that stay on the device go back before they are written again.
            moved = [("h2d", need.uses), ("d2h", need.uses if need.direction == "both" else need.uses - 1)]
        self._moves = [
            (
                direction,
                uses,
                _native.create_transfer(
                    way.method, [(direction, self._memory, self._on_device)], 0, need.bytes, seed, True
                ),
            )
            for direction, uses in moved
        ]
        self._program = np.full(need.bytes if way.staged else 0, seed % 251, np.uint8)

    def seconds(self) -> float:
        """Of the whole need."""
        total = 0.0
        for direction, uses, transfer in self._moves:
            timed = timed_uses(uses, self._seconds_a_use)
            if self._way.staged:
                total += sum(self._staged_use(direction, transfer) for _ in range(timed)) * uses / timed
            elif timed:
                total += sum(transfer.run(0, timed, timed, 0.0)["host_seconds"]) * uses / timed
        return self._held.seconds() + total

    def wrong(self) -> str:
        """What is wrong with one transfer each way, every byte of which is checked."""
        for direction, _, transfer in self._moves:
            # There and back use one pair of buffers. Managed memory is filled when it is poisoned.
            if self._on_device and direction == "h2d":
                self._memory.fill_pattern(0, self._need.bytes, self._seed)
            elif self._on_device:
                self._on_device.fill_pattern(0, self._need.bytes, self._seed + 1)
            transfer.poison()
            self._seconds_a_use = transfer.run(1, 1, 1, 0.0)["host_seconds"][0]
            ((words, first),) = transfer.verify()
            if words:
                return wrong_data(direction, words, first, self._need.bytes)
        return ""

    def _staged_use(self, direction: str, transfer: _native.Timed) -> float:
        """One thread's memcpy between the program's memory and pinned memory, and the copy of that."""
        pinned = self._memory.host_array()[: self._need.bytes]
        before = self._memcpy(pinned, self._program) if direction == "h2d" else 0.0
        seconds = transfer.run(0, 1, 1, 0.0)["host_seconds"][0]
        return before + seconds + (self._memcpy(self._program, pinned) if direction == "d2h" else 0.0)

    def _memcpy(self, to: "np.typing.NDArray[np.uint8]", from_: "np.typing.NDArray[np.uint8]") -> float:
        self._memory.begin_host_access()
        begin = time.perf_counter()
        np.copyto(to, from_)
        seconds = time.perf_counter() - begin
        self._memory.end_host_access()
        return seconds
