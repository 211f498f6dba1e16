"""What `openacc` measures: programs, who moves their data, and the parts of arrays and sides that each effort takes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from isthmus.experiment.engine.options import ModeName, Options
from isthmus.experiment.engine.rounds import Quota
from isthmus.record import KIB, Case

NAME = "openacc"
# Directives move the data; managed memory does; directives are there and the compiler's managed mode is on.
MODES = ("explicit", "automatic", "both")
# The same array, moved by this package's own calls, for comparison.
NATIVE = "native"
ITERATIONS = 20

_FRACTIONS: Mapping[ModeName, Sequence[float]] = {
    "quick": (1.0,),
    "default": (0.1, 0.5, 1.0),
    "full": (0.1, 0.3, 0.5, 0.6, 0.8, 1.0),
}
_STRIDES: Mapping[ModeName, Sequence[int]] = {
    "quick": (128 * KIB,),
    "default": (4 * KIB, 128 * KIB),
    "full": (4 * KIB, 64 * KIB, 128 * KIB, 256 * KIB),
}
_SIDES: Mapping[ModeName, Sequence[int]] = {"quick": (KIB,), "default": (4 * KIB,), "full": (8 * KIB, 30720)}
_PACKS = ("cpu", "gpu")
_DOUBLE = 8


class Program(NamedTuple):
    """What the method of a case names: a program or NATIVE, who packs its halos if anyone does, who moves its data."""

    name: str
    pack: str
    mode: str

    @classmethod
    def of(cls, case: Case) -> "Program":
        """``contiguous_explicit``, ``stencil_cpu_automatic``, ``native_explicit``."""
        name, *pack, mode = case.method.split("_")
        return cls(name, "".join(pack), mode)


def samples_a_visit(case: Case, quota: Quota) -> int:
    """One where the programs' calls and native ones do the same, all of an array copied in and out.

    Memory lies differently each time, and that is not theirs.
    """
    does_the_same = case.fraction == 1.0 and case.method in (f"{NATIVE}_explicit", "contiguous_explicit")
    return 1 if does_the_same else quota.least_of_own


def words_of(case: Case) -> list[str]:
    """The options of the case's program."""
    program = Program.of(case)
    values: dict[str, str | float | None] = {"way": program.mode}
    if program.name == "stencil":
        values |= {"pack": program.pack, "side": case.rows, "halo": case.halo, "iterations": ITERATIONS}
    else:
        values |= {"bytes": case.bytes, "fraction": case.fraction, "stride": case.stride_bytes}
    return [word for name, value in values.items() if value is not None for word in (f"--{name}", str(value))]


def allocated_bytes(case: Case) -> int:
    """What the program has on either side: of a stencil the field before and after an iteration."""
    return case.bytes * (2 if case.rows else 1)


def cases_of(options: Options, sizes: Iterable[int]) -> Iterator[Case]:
    """All cases of arrays of these sizes in bytes, those of one array and pattern after one another."""
    effort = options.mode
    modes = [mode for mode in MODES if not options.memory or _memory(mode) in options.memory]
    for asked in sizes:
        size = max(asked - asked % _DOUBLE, _DOUBLE)
        for fraction in _FRACTIONS[effort]:
            # It copies the whole array whatever is touched: once is enough.
            if "explicit" in modes and fraction == 1.0:
                yield case_of(NATIVE, "explicit", size, fraction=fraction)
            yield from (case_of("contiguous", mode, size, fraction=fraction) for mode in modes)
        for stride in _STRIDES[effort]:
            yield from (case_of("stride", mode, size, stride_bytes=stride) for mode in modes)
    for side in sorted(set(options.sides or _SIDES[effort])):
        for halo in sorted(set(options.halos or (1,))):
            size = side * (side // 2 + 2 * halo) * _DOUBLE
            for pack in _PACKS:
                yield from (case_of(f"stencil_{pack}", mode, size, rows=side, halo=halo, ranks=1) for mode in modes)


def case_of(program: str, mode: str, size: int, **pattern: Any) -> Case:
    """One program, which tells who packs, and its data; `pattern` says what is touched, or the sides of a stencil."""
    method, memory = f"{program}_{mode}", _memory(mode)
    return Case(experiment=NAME, method=method, host_memory=memory, bytes=size, **pattern)


def _memory(mode: str) -> str:
    return "pageable" if mode == "explicit" else "managed"
