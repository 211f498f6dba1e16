"""OpenACC programs that move data by directives, by managed memory, or are told to do both.

They are those of IPSJ HPC-177-13 (sections 4 and 5), written anew: `examples/openacc` has them.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from isthmus.errors import IsthmusError, Unsupported
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import most_managed_bytes, over_budget, over_half
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.rounds import Subject
from isthmus.experiment.engine.sampling import reason_of, skipped_case
from isthmus.experiment.openacc.build import MANAGED_SUFFIX, Compiler, cached_programs, find_compiler, program_path
from isthmus.experiment.openacc.points import NATIVE, ProgramPoint, points, template
from isthmus.experiment.openacc.programs import NativeArray, NativeSubject, ProgramSubject, device_environment
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
    "these programs were built by GCC, which has no managed mode that directives could meet; nvc++ -gpu=managed "
    "(NVIDIA HPC SDK) shows whether it ignores them"
)


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Every program, way and part of the array; nothing but reasons on devices that are not CUDA's."""
    source = _source(options)
    possible: list[ProgramPoint] = []
    skipped: list[Case] = []
    for point in points(options, options.effort(EFFORTS).sizes):
        reason = _why_not(point, device, source, memory_bytes)
        if reason is None:
            possible.append(point)
        else:
            skipped.append(skipped_case(template(point), reason))
    if not possible:
        return Planned([], skipped)
    return Planned([Batch(len(possible), 1.0, partial(prepare, possible, device, source))], skipped)


def _source(options: Options) -> Compiler | Path | str:
    """A compiler, a folder of programs, or why there is neither."""
    if options.binaries:
        return Path(options.binaries).absolute()
    try:
        return find_compiler()
    except Unsupported as error:
        return str(error)


def _why_not(point: ProgramPoint, device: OpenDevice, source: Compiler | Path | str, memory_bytes: int) -> str | None:
    """Why a point is not measured; None when it is."""
    if device.description.backend != "cuda":
        return f"OpenACC programs run on NVIDIA's devices through CUDA; {device.description.spec} is none"
    if point.program != NATIVE and isinstance(source, str):
        return source
    if point.side is not None and (point.side % 2 or point.side // 2 < 2 * (point.halo or 0)):
        return f"a side of {point.side} cannot be cut into two halves with halos of {point.halo} columns"
    return _why_no_managed(point, device, source) or _why_no_memory(point, device, memory_bytes)


def _why_no_managed(point: ProgramPoint, device: OpenDevice, source: Compiler | Path | str) -> str | None:
    if point.way == "explicit":
        return None
    reason = device.native.why_not("managed") or device.native.why_no_migration()
    return _NO_MANAGED_MODE if reason is None and point.way == "both" and not _has_managed_mode(source) else reason


def _why_no_memory(point: ProgramPoint, device: OpenDevice, memory_bytes: int) -> str | None:
    limit = most_managed_bytes(device.native.free_bytes())
    if point.allocated_bytes > limit:
        return over_half(limit)
    # The native way has an array of its own beside the program's.
    return over_budget(memory_bytes) if 2 * point.allocated_bytes > memory_bytes else None


def _has_managed_mode(source: Compiler | Path | str) -> bool:
    if isinstance(source, Path):
        return program_path(source, "contiguous", "both") is not None
    return isinstance(source, Compiler) and MANAGED_SUFFIX in source.flags


def prepare(chosen: Sequence[ProgramPoint], device: OpenDevice, source: Compiler | Path | str) -> Prepared:
    """Build the programs unless they were built before."""
    folder: Path | str = ""
    try:
        if not isinstance(source, str):
            folder = cached_programs(source) if isinstance(source, Compiler) else source
    except IsthmusError as error:
        folder = reason_of(error)
    allocate = partial(NativeArray, device.native)
    environment = device_environment(device.description.index)
    subjects: list[Subject] = []
    ended: list[list[Case]] = []
    for point in chosen:
        subject = _subject(point, folder, allocate, environment)
        if isinstance(subject, str):
            ended.append([skipped_case(template(point), subject)])
        else:
            subjects.append(subject)
    return Prepared(subjects, ended)


def _subject(
    point: ProgramPoint, folder: Path | str, allocate: Callable[[int], NativeArray], environment: Mapping[str, str]
) -> Subject | str:
    """What measures a point, or why nothing can."""
    if point.program == NATIVE:
        return NativeSubject(point, allocate)
    if isinstance(folder, str):
        return folder
    program = program_path(folder, point.program, point.way)
    return _NO_MANAGED_MODE if program is None else ProgramSubject(point, program, environment)
