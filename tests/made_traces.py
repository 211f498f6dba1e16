"""A small trace with something of everything, and advice on it, for tests of what is shown of them."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from isthmus.advice import Abstention, Advice, Evidence, Finding
from isthmus.record import Interval
from isthmus.trace import UNKNOWN, Allocations, Calls, Copies, Faults, Intervals, Process, Trace
from isthmus.trace import direction_index as way
from isthmus.trace import memory_index as memory

MS = 1_000_000
# When the clock of the trace began; what is shown counts from the first record.
FIRST_NS = 1_700_000_000 * 1000 * MS
KERNEL = "void ns::(anonymous namespace)::saxpy<float, (int)4>(int, float const*, float*)"


def columns(rows: list[dict[str, int]]) -> dict[str, np.ndarray]:
    """Rows as columns; what some rows lack is UNKNOWN."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: np.array([row.get(name, UNKNOWN) for row in rows], np.int64) for name in names}


def row(start_ms: float, end_ms: float, **more: int) -> dict[str, int]:
    """A record from one moment to another."""
    return {"start_ns": FIRST_NS + round(start_ms * MS), "end_ns": FIRST_NS + round(end_ms * MS), **more}


def made_trace(path: Path = Path("program.itrace")) -> Trace:
    """Two processes, 100 ms: three copies to device 0, one back, a migration, two kernels and a memset."""
    pageable, pinned, device, managed = map(memory, ("pageable", "pinned", "device", "managed"))
    of = {"process": 0, "device": 0, "stream": 7, "migration": 0}
    h2d = of | {"direction": way("h2d"), "destination": device}
    copies = [
        row(10, 20, **h2d, source=pageable, bytes=100_000_000, call=0, source_address=0x7F00, rows=1, content=-5),
        row(30, 40, **h2d, source=pageable, bytes=100_000_000, call=1),
        row(40, 45, **h2d, source=pinned, bytes=250_000_000),
        row(60, 61, **of, direction=way("d2h"), source=device, destination=pinned, bytes=8),
        row(70, 72, process=1, device=1, direction=way("h2d"), source=managed, destination=managed)
        | {"migration": 1, "cause": 1, "bytes": 2_000_000},
    ]
    calls = [row(0, 20, process=0, thread=70, name=0, site=0), row(25, 40, process=0, thread=70, name=0)]
    kernels = [row(44, 54, process=0, device=0, stream=7, name=1), row(90, 100, process=1, device=1, stream=7, name=1)]
    return Trace(
        path=path,
        maker="isthmus",
        version="1",
        processes=(Process(100, "./program", 0), Process(101, "./program", 1)),
        devices={0: "NVIDIA H200"},
        names=("cudaMemcpy", KERNEL),
        copies=Copies.filled(**columns(copies)),
        calls=Calls.filled(**columns(calls)),
        kernels=Intervals.filled(**columns(kernels)),
        memsets=Intervals.filled(**columns([row(56, 57, process=0, device=0, stream=7, bytes=4096)])),
        synchronizations=Intervals.empty(),
        knows=frozenset({"calls", "kernels", "migrations", "call_sites"}),
        allocations=Allocations.empty(),
        faults=Faults.empty(),
        sites=(("train.py:42 step", "train.py:7 main"),),
        notes=("1 record was left out.",),
    )


def empty_trace() -> Trace:
    """A program that never called a driver."""
    nothing = Intervals.empty()
    without = {"copies": Copies.empty(), "calls": Calls.empty(), "kernels": nothing, "memsets": nothing}
    return replace(made_trace(), **without, names=(), sites=(), notes=())  # type: ignore[arg-type]


def made_advice() -> Advice:
    """A finding with a price, one without, and a rule that could not judge."""
    pageable = Finding(
        rule="pageable",
        level="ATTENTION",
        title="Copies from pageable memory",
        cause="2 copies come from pageable memory.",
        change="Pin the buffer once.",
        pricing="At the run's rates.",
        snippets={"cuda": "cudaHostAlloc(&p, n, 0);\n", "torch": "t.pin_memory()\n"},
        evidence=(Evidence("train.py:42 step", 2, 200_000_000, 0.020),),
        calls=2,
        bytes=200_000_000,
        gain_seconds=Interval(0.016, 0.015, 0.017),
    )
    remark = replace(pageable, rule="over-pinned", level="note", title="Much is pinned", snippets={})
    return Advice(
        findings=(pageable, replace(remark, gain_seconds=None, evidence=())),
        abstentions=(Abstention("duplicate", "record with isthmus trace --contents"),),
        span_seconds=0.1,
        gain_seconds=Interval(0.016, 0.015, 0.017),
        priced_by="1 (NVIDIA H200)",
        priced_elsewhere="",
    )
