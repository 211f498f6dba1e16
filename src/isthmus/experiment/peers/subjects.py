"""Copies between devices that can be visited again and again, and accesses of one device to another's memory."""

from collections.abc import Callable, Mapping, Sequence

from isthmus import _native
from isthmus.experiment.engine.buffers import wrong_data
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Collected
from isthmus.experiment.peers.machine import Lane
from isthmus.record import MIB, Case

_ALWAYS_CHECKED_BYTES = 16 * MIB


class CopySubject:
    """Lanes that are copied at once; `parts` are cases that end with the last of the lanes of these numbers."""

    def __init__(
        self,
        template: Case,
        lanes: Sequence[Lane],
        copies: int,
        *,
        by_kernel: bool = False,
        parts: Mapping[str, tuple[Case, Sequence[int]]] | None = None,
    ) -> None:
        self.template = template
        self._lanes = list(lanes)
        self._make: Callable[[], _native.PeerCopies] = lambda: _native.create_peer_copies(
            self._lanes, template.bytes, copies, by_kernel
        )
        self._parts = parts or {}
        self._copies: _native.PeerCopies | None = None

    def visit(self, quota: Quota, collected: Collected) -> None:
        """Take samples; the first visit, and each of small sizes, checks every byte of every lane that arrived."""
        if self._copies is None:
            self._copies = self._make()
        size = self.template.bytes
        checked = not collected.count or size <= _ALWAYS_CHECKED_BYTES
        if checked:
            self._copies.poison()
        collected.begin()
        # Each sample has its own warm-up.
        samples = self._copies.run(0, quota.least, quota.most, quota.seconds)
        mismatches = self._copies.verify() if checked else []
        collected.samples.setdefault("device_seconds", []).extend(samples["device_seconds"])
        for name, (template, numbers) in self._parts.items():
            ends = zip(*(samples["lanes"][number] for number in numbers), strict=True)
            collected.add_companion(name, template, "device_seconds", [max(times) for times in ends])
        collected.verified = True
        for lane, (words, first) in zip(self._lanes, mismatches, strict=False):
            if words and not collected.wrong:
                collected.wrong = wrong_data(lane[0], words, first, size)
