"""Runs whose truth is known, as snapshots show them: one for each experiment, with all that may happen to a case."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from isthmus.record import MIB, Case, Direction, End, Metric, Run, Series
from tests.synthetic import (
    allocation,
    batching,
    breakeven,
    managed,
    migrations,
    openacc,
    overlap,
    paths,
    peers,
    runs,
    stencil,
    strided,
    threads,
)

replace = msgspec.structs.replace
DIRECTIONS: Sequence[Direction] = ("h2d", "d2h")


def _small() -> list[Case]:
    """Copies of three kinds of memory at seven sizes."""
    truths: dict[runs.Key, runs.Truth] = {
        ("copy", way, kind): runs.Truth(8e-6, rate)
        for kind, rate in {"pinned": 50e9, "pageable": 9e9, "registered": 50e9}.items()
        for way in DIRECTIONS
    }
    return runs.cases(truths, [1 << power for power in range(6, 31, 4)])


def _wrong() -> Run:
    """Wrong data, failed calls, skips, intervals that stayed wide, and an end before the last case."""
    cases = _small()
    cases[3] = replace(cases[3], verified="no", note="byte 17 of 64: 0x00, expected 0x2a")
    cases[4] = replace(cases[4], series=[], skipped=True, note="needs 4.00 GiB of host memory, 3.10 GiB is free")
    noisy = [Series(metric="host_seconds", samples=[1e-3 * (1 + at % 5) for at in range(20)])]
    cases[-1] = replace(cases[-1], series=noisy)
    return runs.run(cases, name="wrong", end=End(status="interrupted", seconds=3.0))


def interference() -> list[Case]:
    """Turns on a device whose clock rises: each takes less than the one before, alone and beside."""

    def case(method: str, slowdown: float, rate: float, **fields: object) -> Case:
        size = 64 * MIB
        alone = [0.01 * (1 - turn / 100) for turn in range(12)]
        times: dict[Metric, list[float]] = {
            "alone_seconds": alone,
            "beside_seconds": [seconds * (1 + slowdown) for seconds in alone],
            "host_seconds": [size / rate] * 12,
        }
        given = {"direction": "h2d", "host_memory": "pinned", "bytes": size, "neighbour": "compute"} | fields
        series = [Series(metric=metric, samples=samples) for metric, samples in times.items()]
        return Case(experiment="interference", method=method, series=series, **({"verified": "yes"} | given))  # type: ignore[arg-type]

    return [
        case("copy", 0.012, 54.8e9),
        case("kernel", 0.10, 29.8e9, blocks=1),
        case("kernel", 0.104, 49.6e9, blocks=2),
        case("kernel", 1.62, 50.8e9, blocks=0),
        case("kernel", 0.10, 50.6e9, blocks=4, verified="no"),
        case("copy", 0.001, 9e9, host_memory="pageable"),
        case("isthmus", 0.002, 12e9, host_memory="pageable", threads=1),
        case("isthmus", 0.02, 48e9, host_memory="pageable", threads=12),
        case("copy", -0.015, 55e9, direction="d2h"),
        case("copy", 0.03, 54e9, neighbour="thread"),
        case("copy", 0.5, 30e9, bytes=16 * MIB),
    ]


def _threads() -> list[Case]:
    return [
        *threads.h200_cases(),
        *threads.cases({("h2d", "pageable"): lambda count: min(7.0 * count, 28.0)}),
        *threads.skips("needs 3 threads, this process may use 2 CPUs"),
    ]


MADE: Mapping[str, Callable[[], Run]] = {
    "small": lambda: runs.run(_small(), name="small"),
    "wrong": _wrong,
    "h200": runs.h200,
    "allocation": lambda: runs.run(allocation.h200()),
    "breakeven": lambda: runs.run(breakeven.everything()),
    "batching": lambda: runs.run(batching.h200_cases()),
    "strided": lambda: runs.run(strided.h200_cases()),
    "overlap": lambda: runs.run(overlap.h200_cases()),
    "managed": lambda: runs.run([*managed.cases(), *migrations.gpu_cases()]),
    "openacc": lambda: runs.run(openacc.everything(both=True)),
    "stencil": lambda: runs.run(stencil.cases()),
    "threads": lambda: runs.run(_threads()),
    "paths": lambda: runs.run(paths.whole(2)),
    "peers": lambda: runs.run(peers.whole(3)),
    "interference": lambda: runs.run(interference()),
}
