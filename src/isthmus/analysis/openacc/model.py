"""OpenACC programs of a run: for each piece of work the time of every mode to move its data, and how they compare."""

from collections.abc import Mapping
from dataclasses import dataclass

from isthmus.analysis.statistics.contrast import ratio
from isthmus.analysis.statistics.curve import is_resolved
from isthmus.record import LEAST_SAMPLES, Case, Interval, Run, median_interval

# In the order of tables; the last is the work of the contiguous program done by this package's own calls.
OPENACC_WAYS = ("explicit", "automatic", "both", "native")


@dataclass(frozen=True)
class OpenaccTime:
    """Seconds of one mode, in all and by the metric of each phase, as medians with their intervals."""

    seconds: Interval
    phases: Mapping[str, Interval]
    samples: int
    converged: bool
    compiler: str


@dataclass(frozen=True)
class OpenaccWork:
    """One program with what it works on; `modes` are those that were measured and whose results were right.

    `pack` is ``cpu`` or ``gpu`` of a stencil; `fraction` is of the contiguous program, `stride_bytes` of the other.
    """

    program: str
    pack: str
    bytes: int
    fraction: float | None
    stride_bytes: int | None
    side: int | None
    halo: int | None
    modes: Mapping[str, OpenaccTime]

    def ratio(self, mode: str, base: str = "explicit") -> Interval | None:
        """The time of one mode over that of another; None where one of them was not measured."""
        over, under = self.modes.get(mode), self.modes.get(base)
        return ratio(over.seconds, under.seconds) if over and under else None

    @property
    def compiler(self) -> str:
        """What built the program; empty where only the native way was measured."""
        return next((time.compiler for time in self.modes.values() if time.compiler), "")


def openacc_works(run: Run) -> list[OpenaccWork]:
    """Everything measured, programs in the order contiguous, stride, stencil, smaller parts and arrays first."""
    by_work: dict[tuple[object, ...], dict[str, Case]] = {}
    for case in run.cases:
        if case.experiment == "openacc" and is_resolved(case) and case.verified != "no":
            program, pack, mode = _parts(case)
            key = (program, pack, case.bytes, case.fraction, case.stride_bytes, case.rows, case.halo)
            by_work.setdefault(key, {})[mode] = case
    works = [_work(run, cases) for cases in by_work.values()]
    return sorted(
        works,
        key=lambda work: (
            work.program,
            work.side or 0,
            work.halo or 0,
            work.pack,
            work.bytes,
            work.fraction or 0,
            work.stride_bytes or 0,
        ),
    )


def whole_arrays(works: list[OpenaccWork]) -> list[OpenaccWork]:
    """Those in which the device works on the whole of a contiguous array, as in the paper's section 5.1."""
    return [work for work in works if work.program == "contiguous" and work.fraction == 1.0]


def _parts(case: Case) -> tuple[str, str, str]:
    """Program, pack and way; the native way does what the contiguous program does."""
    before, _, mode = case.method.rpartition("_")
    program, _, pack = before.partition("_")
    return ("contiguous", "", "native") if program == "native" else (program, pack, mode)


def _work(run: Run, cases: Mapping[str, Case]) -> OpenaccWork:
    first = next(iter(cases.values()))
    program, pack, _ = _parts(first)
    return OpenaccWork(
        program=program,
        pack=pack,
        bytes=first.bytes,
        fraction=first.fraction,
        stride_bytes=first.stride_bytes,
        side=first.rows,
        halo=first.halo,
        modes={mode: _time(run, cases[mode]) for mode in OPENACC_WAYS if mode in cases},
    )


def _time(run: Run, case: Case) -> OpenaccTime:
    seconds = median_interval(case.samples("host_seconds"))
    return OpenaccTime(
        seconds=seconds,
        phases={
            series.metric: median_interval(series.samples)
            for series in case.series
            if series.metric != "host_seconds" and series.samples
        },
        samples=len(case.samples("host_seconds")),
        converged=len(case.samples("host_seconds")) >= LEAST_SAMPLES
        and seconds.relative_half_width <= run.settings.target_relative_half_width,
        compiler=case.compiler,
    )
