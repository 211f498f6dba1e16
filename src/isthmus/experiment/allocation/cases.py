"""What memory costs: time to get it, to use it for the first time and to give it back, for every kind.

Source of the question: the allocation figures 1 to 4 that the field's literature on pinned memory keeps citing
(cudaMallocHost and cudaMalloc against malloc by size).
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial

import msgspec

from isthmus import _native
from isthmus.errors import CallFailed, IsthmusError
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import most_managed_bytes, over_budget, over_half
from isthmus.experiment.engine.options import Effort, ModeName, Options, powers_of_two
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Companion, reason_of, skipped_case
from isthmus.experiment.engine.sweep import Bench, Samples, Sweep, Timed, planned
from isthmus.machine.devices import OpenDevice, open_native
from isthmus.python import python_command, python_environment
from isthmus.record import KIB, MIB, Case, Series
from isthmus.record import MEMORY_KINDS as KINDS

NAME = "allocation"
MEMORY_KINDS = tuple(kind.name for kind in KINDS.values() if kind.allocated)
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([4 * KIB, MIB, 16 * MIB, 64 * MIB], 4.0, 0.2),
    # With those that papers name: 512 KiB and 512 MiB.
    "default": Effort(sorted([*powers_of_two(8, 30, 2), 512 * KIB, 512 * MIB]), 30.0, 2.0),
    "full": Effort(powers_of_two(8, 33), 300.0, 5.0),
}

# Small blocks of these are carved out of larger ones, which go with the last block in them.
_CARVED = ("pinned", "write_combined", "managed", "device")
_BESIDE_BYTES = 4 * MIB
# The same call as for pinned memory, with another flag: half a second for each gibibyte that says nothing new.
_VARIANTS = ("pinned_portable", "mapped")
_MOST_VARIANT_BYTES = 256 * MIB
FIRST_BYTES = MIB
_PHASES = ("allocate", "touch", "free")
_LIMIT_SECONDS = 60

# By kind, seconds of each phase, or why there are none.
FirstCalls = dict[str, dict[str, float] | str]


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """The first call of each chosen kind in a new process, then every kind and size."""
    sweep = _Sweep(device, options, memory_bytes)
    kinds = [kind for kind in sweep.kinds if device.native.why_not(kind) is None]
    batches, skipped = planned(sweep)
    return Planned([Batch(1 + len(kinds), 0.01, partial(_first_calls, device, kinds)), *batches], skipped)


class _Sweep(Sweep):
    def __init__(self, device: OpenDevice, options: Options, memory_bytes: int) -> None:
        super().__init__(device, options, memory_bytes)
        self.kinds = options.chosen(MEMORY_KINDS, options.memory)

    def cases(self) -> Iterator[Case]:
        for kind in self.kinds:
            sizes = self.sizes(EFFORTS)
            yield from (_case("allocate", kind, size) for size in sizes)
            if kind in _CARVED:
                yield from (_case("beside_allocate", kind, size) for size in sizes if size <= _BESIDE_BYTES)

    def why_not(self, case: Case) -> str | None:
        kind, size, options = case.host_memory, case.bytes, self.options
        if why := self.native.why_not(kind):
            return why
        if kind == "managed" and (limit := most_managed_bytes(self.native.free_bytes())) < size:
            return over_half(limit)
        if size > self.memory_bytes and (not KINDS[kind].on_device or self.shares_host_memory):
            return over_budget(self.memory_bytes)
        if options.mode == "full" or options.sizes or kind not in _VARIANTS or size <= _MOST_VARIANT_BYTES:
            return None
        return "the call for pinned memory with another flag; --full measures it at this size too"

    def weight(self, _cases: Sequence[Case]) -> float:
        return 1.0

    def prepare(self, _cases: Sequence[Case]) -> Bench:
        return Bench(lambda case: cache(partial(_Allocation, self.native, case)))


def _case(method: str, kind: str, size: int) -> Case:
    return Case(experiment=NAME, method=method, host_memory=kind, bytes=size)


class _Allocation(Timed):
    """Memory of one kind and size that is got and given back again and again."""

    checks = "never"

    def __init__(self, device: _native.Device, case: Case) -> None:
        self._case, beside = case, case.method.startswith("beside_")
        self._made = _native.create_allocation(device, case.host_memory, case.bytes, beside)
        self._phases: Mapping[str, Sequence[float]] = {}

    def run(self, quota: Quota) -> Samples:
        samples = self._made.run(*quota)
        self._phases = {"touch": samples["touch"], "free": samples["free"]}
        return {"host_seconds": samples["allocate"]}

    def described(self, case: Case) -> Case:
        width, rows, pitch = self._made.shape
        shape = {"width_bytes": width, "rows": rows, "pitch_bytes": pitch or None}
        return msgspec.structs.replace(case, **shape) if width else case

    def companions(self) -> Iterator[Companion]:
        for phase, seconds in self._phases.items():
            method = self._case.method.replace("allocate", phase)
            yield Companion(self.described(msgspec.structs.replace(self._case, method=method)), "host_seconds", seconds)


def _first_calls(device: OpenDevice, kinds: Sequence[str]) -> Prepared:
    opening = Case(experiment=NAME, method="open_device", host_memory="", bytes=0)
    try:
        seconds, calls = measure_first_calls(device, kinds)
    except CallFailed as error:
        return Prepared([], [[skipped_case(opening, reason_of(error))]])
    ended = [[_measured(opening, seconds)]]
    for kind, phases in calls.items():
        if isinstance(phases, str):
            ended.append([skipped_case(_case("first_allocate", kind, FIRST_BYTES), phases)])
        else:
            ended.append(
                [_measured(_case(f"first_{phase}", kind, FIRST_BYTES), each) for phase, each in phases.items()]
            )
    return Prepared([], ended)


def _measured(case: Case, seconds: float) -> Case:
    return msgspec.structs.replace(case, series=[Series(metric="host_seconds", samples=[seconds])])


def measure_first_calls(device: OpenDevice, kinds: Sequence[str]) -> tuple[float, FirstCalls]:
    """Seconds to open the device in a new process, and of the first calls of each kind, in the order given.

    Raises CallFailed when that process fails, with what it said.
    """
    described = device.description
    order = json.dumps([described.backend, described.index, device.model, list(kinds)])
    command = python_command(__name__, order)
    try:
        # Without what drivers have set in this process meanwhile, seen to hide NVIDIA's OpenCL from its children.
        environment = python_environment()
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=_LIMIT_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise CallFailed(f"a new process did not end its first calls within {_LIMIT_SECONDS} s") from error
    if ended.returncode != 0:
        last = ended.stderr.strip().splitlines()[-1:] or [f"exit code {ended.returncode}"]
        raise CallFailed(f"a new process that makes the first calls failed: {last[0]}")
    seconds, calls = json.loads(ended.stdout)
    return seconds, calls


def _measure(backend: str, index: int, model: str, kinds: Sequence[str]) -> tuple[float, FirstCalls]:
    begin = time.perf_counter()
    device = open_native(backend, index, model)
    seconds = time.perf_counter() - begin
    calls: FirstCalls = {}
    for kind in kinds:
        try:
            samples = _native.create_allocation(device, kind, FIRST_BYTES).run(0, 1, 1, 0.0)
            calls[kind] = {phase: samples[phase][0] for phase in _PHASES if samples[phase]}
        except IsthmusError as error:
            calls[kind] = reason_of(error)
    return seconds, calls


if __name__ == "__main__":
    print(json.dumps(_measure(*json.loads(sys.argv[1]))))
