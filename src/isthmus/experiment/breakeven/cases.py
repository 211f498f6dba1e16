"""When a kind of memory pays: whole trips from getting a buffer to giving it back, for every kind and number of uses.

Two cases: data goes there and comes back, or it goes there and a reduction's result comes back. Each from data that
arrives by memcpy, and from a producer that writes in place.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial

import msgspec

from isthmus import _native
from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.blocks import most_managed_bytes, over_budget, over_half
from isthmus.experiment.engine.buffers import PAGE_BYTES
from isthmus.experiment.engine.options import Effort, ModeName, Options, powers_of_two
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Companion
from isthmus.experiment.engine.sweep import Bench, Samples, Sweep, Timed, planned
from isthmus.experiment.engine.transfers import transfer_bench, transfer_case
from isthmus.machine.devices import OpenDevice
from isthmus.record import KIB, MIB, Case, Direction

NAME = "breakeven"
# Methods, each with the memory that the device must have for it.
_NEEDS = {
    "pageable": "pageable",
    "pinned": "pinned",
    "registered": "registered",
    "touched_registered": "touched_registered",
    "staging": "pinned",
    "managed": "managed",
    "managed_prefetch": "managed",
    "mapped": "mapped",
}
MEMORY_KINDS = tuple(_NEEDS)
_WORKS = ("round_trip", "reduction")
_IN_PLACE = "_in_place"
# Uses of a buffer that native/experiment/trip.cpp times besides one.
_MORE_USES = (2, 5, 10)
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([64 * KIB, MIB, 16 * MIB], 5.0, 0.2),
    "default": Effort([*powers_of_two(12, 24), 64 * MIB, 128 * MIB], 44.0, 2.0),
    "full": Effort(powers_of_two(12, 30), 300.0, 5.0),
}
# From which size on pinning pays, in two seconds.
BRIEF = Effort(powers_of_two(14, 24, 2), 2.0, 0.1)
_BRIEF_KINDS = ("pageable", "pinned")
_WORD_BYTES = 4
# Single copies of data that caches hold, as a program's are that has just written them: `bandwidth` avoids those, and
# the model needs them. Larger ones no cache holds.
_STEP_KINDS = ("pageable", "pinned", "registered", "mapped")
_MOST_STEP_BYTES = 64 * MIB


_DIRECTIONS: Sequence[Direction] = ("h2d", "d2h")


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Every kind, work and size, measured interleaved from one source and to one buffer of the device."""
    return planned(_Sweep(device, options, memory_bytes))


def plan_briefly(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Trips of pageable and pinned memory alone, filled by memcpy."""
    return planned(_BriefSweep(device, options._replace(memory=_BRIEF_KINDS), memory_bytes))


def _is_step(case: Case) -> bool:
    """Whether it is a single copy, not a trip."""
    return case.direction is not None


class _Sweep(Sweep):
    def cases(self) -> Iterator[Case]:
        """Trips, and the copies that they are made of."""
        trips = list(self._trips())
        yield from trips
        yield from self._steps({case.bytes for case in trips if not self.why_not(case)})

    def _trips(self) -> Iterator[Case]:
        # Without pageable memory there would be nothing to compare with.
        for kind in dict.fromkeys(["pageable", *self.options.chosen(MEMORY_KINDS, self.options.memory)]):
            for work in _WORKS:
                for method in (work, work + _IN_PLACE):
                    for size in self.sizes(EFFORTS):
                        yield Case(experiment=NAME, method=method, host_memory=kind, bytes=size)

    def _steps(self, sizes: set[int]) -> Iterator[Case]:
        """Those in which the CPU takes part, which alone its caches help."""
        native = self.native
        helped = [
            kind
            for kind in _STEP_KINDS
            if (self.shares_host_memory or native.copy_blocks(kind)) and not self._why_no(kind)
        ]
        # Buffers of each kind and of the device, for each direction.
        most = min(_MOST_STEP_BYTES, self.memory_bytes // (4 * (len(helped) + 1)))
        for kind in helped:
            for direction in _DIRECTIONS:
                for size in sorted(size for size in sizes if size <= most):
                    for method in ("", "isthmus") if kind == "pageable" else ("",):
                        yield transfer_case(NAME, kind, direction, size, method)

    def _why_no(self, kind: str) -> str | None:
        reason = self.native.why_not(_NEEDS[kind])
        return self.native.why_no_prefetch() if reason is None and kind == "managed_prefetch" else reason

    def why_not(self, case: Case) -> str | None:
        kind, size = case.host_memory, case.bytes
        if _is_step(case):
            return None
        if why := self._why_no(kind):
            return why
        if size % _WORD_BYTES:
            return f"no multiple of {_WORD_BYTES} bytes, the size of the words that the kernels add"
        limit = most_managed_bytes(self.native.free_bytes(), size)
        if _NEEDS[kind] == "managed" and size > limit:
            return over_half(limit)
        # The source, the buffer, and where device memory is host memory the device's.
        needed = (3 if self.shares_host_memory else 2) * size
        return over_budget(self.memory_bytes) if needed > self.memory_bytes else None

    def prepare(self, cases: Sequence[Case]) -> Bench:
        largest = max(case.bytes for case in cases if not _is_step(case))
        # A page more, so that two different contents can start in it.
        source = self.native.allocate("pageable", largest + PAGE_BYTES)
        source.fill_pattern(0, source.bytes, self.seed)
        on_device = self.native.allocate("device", largest)
        steps = transfer_bench(list(filter(_is_step, cases)), self.native, self.seed, from_caches=True)
        return Bench(
            lambda case: steps.start(case) if _is_step(case) else cache(partial(_Trip, case, source, on_device)),
            # A trip is that of one use; those of more are its companions.
            named=lambda case: case if _is_step(case) else msgspec.structs.replace(case, uses=1),
        )


class _BriefSweep(_Sweep):
    def cases(self) -> Iterator[Case]:
        return (case for case in self._trips() if not case.method.endswith(_IN_PLACE))

    def sizes(self, _efforts: Mapping[ModeName, Effort], _shared: Sequence[int] = ()) -> Sequence[int]:
        return BRIEF.sizes


class _Trip(Timed):
    """A trip that can be made again and again."""

    checks = "always"

    def __init__(self, case: Case, source: _native.Buffer, device: _native.Buffer) -> None:
        self._case, self._work = case, case.method.removesuffix(_IN_PLACE)
        in_place = case.method.endswith(_IN_PLACE)
        self._trip = _native.create_trip(case.host_memory, self._work, in_place, case.bytes, source, device)
        self._companions: list[Companion] = []

    def run(self, quota: Quota) -> Samples:
        samples = self._trip.run(*quota)
        further = msgspec.structs.replace(self._case, method=f"further_{self._case.method}", uses=None)
        self._companions = [
            Companion(msgspec.structs.replace(self._case, uses=uses), "host_seconds", samples[f"uses_{uses}"])
            for uses in _MORE_USES
        ]
        self._companions.append(Companion(further, "host_seconds", samples["further"]))
        return {"host_seconds": samples["uses_1"]}

    def companions(self) -> Sequence[Companion]:
        return self._companions

    def verify(self) -> str:
        what = "32-bit words did not come back as computed" if self._work == "round_trip" else "sums are wrong"
        ((wrong, _),) = self._trip.verify()
        return f"wrong data: {wrong} {what}" if wrong else ""
