"""OpenACC programs that move data by directives, by managed memory, or are told to do both.

They are those of IPSJ HPC-177-13 (sections 4 and 5), written anew: `examples/openacc` has them.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from isthmus.errors import IsthmusError, Unsupported
from isthmus.experiment.engine.blocks import most_managed_bytes, over_budget, over_half
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.sampling import reason_of
from isthmus.experiment.engine.sweep import Bench, Start, Sweep
from isthmus.experiment.openacc.build import MANAGED_SUFFIX, Compiler, cached_programs, find_compiler, program_path
from isthmus.experiment.openacc.points import NATIVE, Program, allocated_bytes, cases_of
from isthmus.experiment.openacc.programs import NativeArray, TimedArray, TimedProgram, device_environment
from isthmus.machine.devices import OpenDevice
from isthmus.record import GIB, MIB, Case

MEMORY_KINDS = ("pageable", "managed")
# Sizes are arrays. On an H200 a visit of 1 GiB takes two seconds, of which starting the program is nearly one.
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([64 * MIB], 10.0, 1.0),
    "default": Effort([GIB], 45.0, 2.0),
    "full": Effort([8 * GIB], 900.0, 60.0),
}

_NO_MANAGED_MODE = (
    "these programs were built by GCC, whose OpenACC has no managed mode that directives could meet (in OpenMP, GCC 12 "
    "refuses to require unified_shared_memory, GCC 15 takes it); nvc++ -gpu=managed (NVIDIA HPC SDK) shows whether it "
    "ignores them"
)


def _source(options: Options) -> Compiler | Path | str:
    """A compiler, a folder of programs, or why there is neither."""
    if options.binaries:
        return Path(options.binaries).absolute()
    try:
        return find_compiler()
    except Unsupported as error:
        return str(error)


class OpenaccSweep(Sweep):
    """Programs of a `source`, and native calls for comparison."""

    def __init__(self, device: OpenDevice, options: Options, memory_bytes: int) -> None:
        super().__init__(device, options, memory_bytes)
        self.source = _source(options)

    def cases(self) -> Iterable[Case]:
        """Every program with every part of the array."""
        return cases_of(self.options, self.sizes(EFFORTS))

    def why_not(self, case: Case) -> str | None:
        """By the device, by what there is of programs, by the shape of a stencil, and by memory."""
        if self.device.description.backend != "cuda":
            return f"OpenACC programs run on NVIDIA's devices through CUDA; {self.device.description.spec} is none"
        if isinstance(self.source, str) and Program.of(case).name != NATIVE:
            return self.source
        side, halo = case.rows, case.halo
        if side is not None and (side % 2 or side // 2 < 2 * (halo or 0)):
            return f"a side of {side} cannot be cut into two halves with halos of {halo} columns"
        return self._why_no_managed(case) or self._why_no_memory(case)

    def _why_no_managed(self, case: Case) -> str | None:
        mode = Program.of(case).mode
        if mode == "explicit":
            return None
        reason = self.native.why_not("managed") or self.native.why_no_migration()
        return _NO_MANAGED_MODE if reason is None and mode == "both" and not _has_managed_mode(self.source) else reason

    def _why_no_memory(self, case: Case) -> str | None:
        limit = most_managed_bytes(self.native.free_bytes())
        if allocated_bytes(case) > limit:
            return over_half(limit)
        # Native calls have an array of their own besides the program's.
        return over_budget(self.memory_bytes) if 2 * allocated_bytes(case) > self.memory_bytes else None

    def prepare(self, _cases: Sequence[Case]) -> Bench:
        """Build the programs unless they were built before."""
        environment = device_environment(self.device.description.index)
        folder: Path | str
        try:
            folder = cached_programs(self.source) if isinstance(self.source, Compiler) else self.source
        except IsthmusError as error:
            folder = reason_of(error)

        def start(case: Case) -> Start | str:
            program = Program.of(case)
            if program.name == NATIVE:
                return lambda: TimedArray(case, NativeArray(self.native, case.bytes))
            if isinstance(folder, str):
                return folder
            path = program_path(folder, program.name, program.mode)
            return _NO_MANAGED_MODE if path is None else partial(TimedProgram, case, path, environment)

        return Bench(start)


plan = OpenaccSweep.plan


def _has_managed_mode(source: Compiler | Path | str) -> bool:
    if isinstance(source, Path):
        return program_path(source, "contiguous", "both") is not None
    return isinstance(source, Compiler) and MANAGED_SUFFIX in source.flags
