"""Traces of programs whose truth is known: a host, a device with two copy engines, and what each step takes."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.trace import (
    UNKNOWN,
    Allocations,
    Calls,
    Copies,
    Intervals,
    Knowledge,
    Maker,
    Process,
    Ranges,
    Trace,
    cause_index,
    direction_index,
    memory_index,
)

EVERYTHING: frozenset[Knowledge] = frozenset(
    [
        "calls",
        "kernels",
        "synchronizations",
        "migrations",
        "faults",
        "addresses",
        "allocations",
        "call_sites",
        "contents",
    ]
)
# Of a call that only enqueues, and of being told that a copy is done.
LAUNCH = 2e-6
WAIT = 3e-6


class Program:
    """Steps of one process with one thread; each advances the host's clock and what the device is at, in seconds.

    Copies take the seconds that they are told, from the call to where the host knows that they are done.
    """

    def __init__(self, process: int = 0) -> None:
        self.now = 0.0
        self.process = process
        self._free: dict[object, float] = {}
        self._records: dict[str, list[dict[str, float]]] = {
            name: [] for name in ("copies", "calls", "kernels", "holds")
        }
        self._ranges: list[tuple[float, float, str]] = []
        self._names: dict[str, int] = {}
        self._sites: dict[tuple[str, ...], int] = {}

    def copy(
        self,
        size: int,
        seconds: float,
        *,
        direction: str = "h2d",
        kind: str = "pinned",
        call: str = "cudaMemcpy",
        host: int = UNKNOWN,
        device: int = UNKNOWN,
        content: int = UNKNOWN,
        stream: int = 0,
        site: str = "",
        rows: int = 1,
        launch: float = LAUNCH,
        waits: bool = False,
        staged: bool = False,
        work: tuple[float, int, float] | None = None,
    ) -> None:
        """A copy; the host waits for it unless its call is asynchronous and its memory is pinned, or the device's.

        With `waits` it waits whatever those are, with `staged` never; a `kind` of "" is not known. `work`: for how long
        its thread was in the kernel before, the pages that were made then, and how many threads run meanwhile.
        """
        begin = self.now
        start = max(begin + launch, self._free.get(stream, 0.0), self._free.get(direction, 0.0))
        end = start + max(seconds - launch - WAIT, 1e-7)
        self._free[stream] = self._free[direction] = end
        inward = direction == "h2d"
        system, faults, threads = work or (0.0, 0, 0.0)
        host_kind = memory_index(kind) if kind else UNKNOWN
        number = self._call(
            call, begin, begin + launch if staged or (_returns_early(call, kind) and not waits) else end + WAIT, site
        )
        self._records["copies"].append(
            {
                "start": start,
                "end": end,
                "bytes": size,
                "direction": direction_index(direction),
                "source": host_kind if inward else memory_index("device"),
                "destination": memory_index("device") if inward else host_kind,
                "call": number,
                "stream": stream,
                "source_address": host if inward else device,
                "destination_address": device if inward else host,
                "content": content,
                "rows": rows,
                "migration": 0,
                "cause": UNKNOWN,
                "system_ns": round(system * 1e9) if work else UNKNOWN,
                "faults": faults if work else UNKNOWN,
                "running_ns": round(threads * seconds * 1e9) if work else UNKNOWN,
            }
        )

    def migrate(
        self, size: int, seconds: float, direction: str, address: int, start: float | None = None, cause: str = "fault"
    ) -> None:
        """Pages that move, by default because they are touched; the host's clock is left to who touches them."""
        start = self.now if start is None else start
        here, there = ("managed", "device") if direction == "h2d" else ("device", "managed")
        self._records["copies"].append(
            {
                "start": start,
                "end": start + seconds,
                "bytes": size,
                "direction": direction_index(direction),
                "source": memory_index(here),
                "destination": memory_index(there),
                "call": UNKNOWN,
                "stream": UNKNOWN,
                "source_address": address,
                "destination_address": address,
                "content": UNKNOWN,
                "rows": 1,
                "migration": 1,
                "cause": cause_index(cause) if cause else UNKNOWN,
                **dict.fromkeys(("system_ns", "faults", "running_ns"), UNKNOWN),
            }
        )

    def kernel(self, seconds: float, *, stream: int = 0, name: str = "work") -> float:
        """A kernel behind what its stream has to do; when it begins."""
        begin = self.now
        start = max(begin + LAUNCH, self._free.get(stream, 0.0), self._free.get("kernels", 0.0))
        self._free[stream] = self._free["kernels"] = start + seconds
        number = self._call("cudaLaunchKernel", begin, begin + LAUNCH)
        record = {"start": start, "end": start + seconds, "call": number, "stream": stream, "name": self._name(name)}
        self._records["kernels"].append(record)
        return start

    def synchronize(self, call: str = "cudaDeviceSynchronize") -> None:
        """Wait for everything."""
        self._call(call, self.now, max([self.now, *self._free.values()]) + WAIT)

    def range(self, name: str, begin: float) -> None:
        """What the program named, from then until now."""
        self._ranges.append((begin, self.now, name))

    @property
    def until_idle(self) -> float:
        """Seconds until the device has done all that it was given."""
        return max(max(self._free.values(), default=0.0) - self.now, 0.0)

    def call(self, name: str, seconds: float) -> None:
        """A call that makes no record but its own."""
        self._call(name, self.now, self.now + seconds)

    def own(self, seconds: float) -> None:
        """Work of the host."""
        self.now += seconds

    def allocate(
        self, size: int, seconds: float, address: int, *, call: str = "cudaMallocHost", site: str = ""
    ) -> None:
        """Get pinned memory."""
        number = self._call(call, self.now, self.now + seconds, site)
        self._hold(number, size, address, release=0)

    def release(self, address: int, seconds: float, *, call: str = "cudaFreeHost") -> None:
        """Give pinned memory back."""
        self._hold(self._call(call, self.now, self.now + seconds), UNKNOWN, address, release=1)

    @property
    def span_seconds(self) -> float:
        """From the first record to the end of the last one."""
        begin, end = self.trace().span_ns
        return float(end - begin) * 1e-9

    def trace(
        self, knows: Iterable[Knowledge] = EVERYTHING, *, maker: Maker = "isthmus", device: str = "NVIDIA H200"
    ) -> Trace:
        """What a tool that records all this would have recorded; it leaves out what it does not know."""
        known = frozenset(knows)
        found = {name: _columns(records, self.process) for name, records in self._records.items()}
        copies = found["copies"]
        forgotten = {
            "addresses": ("source_address", "destination_address"),
            "contents": ("content",),
            "calls": ("call",),
        }
        for knowledge, names in forgotten.items():
            if knowledge not in known:
                copies |= {name: np.full_like(copies["start_ns"], UNKNOWN) for name in names if name in copies}
        return Trace(
            path=Path("synthetic"),
            maker=maker,
            version="",
            processes=tuple(Process(100 + number) for number in range(self.process + 1)),
            devices={0: device} if device else {},
            names=tuple(self._names),
            copies=Copies.filled(**copies),
            calls=Calls.filled(**found["calls"]) if "calls" in known else Calls.empty(),
            kernels=Intervals.filled(**found["kernels"]) if "kernels" in known else Intervals.empty(),
            memsets=Intervals.empty(),
            synchronizations=Intervals.empty(),
            knows=known,
            allocations=Allocations.filled(**found["holds"]) if "allocations" in known else Allocations.empty(),
            sites=tuple(self._sites),
            ranges=self._named(),
            range_names=tuple(dict.fromkeys(name for *_, name in self._ranges)),
        )

    def _named(self) -> Ranges:
        numbers = {name: number for number, name in enumerate(dict.fromkeys(name for *_, name in self._ranges))}
        rows = [{"start": begin, "end": end, "thread": 1, "name": numbers[name]} for begin, end, name in self._ranges]
        return Ranges(**_columns(rows, self.process)) if rows else Ranges.empty()

    def _call(self, name: str, begin: float, end: float, site: str = "") -> int:
        # Innermost first, as on screens.
        place = self._sites.setdefault(tuple(site.split(" < ")), len(self._sites)) if site else UNKNOWN
        self._records["calls"].append(
            {"start": begin, "end": end, "thread": 1, "name": self._name(name), "site": place}
        )
        self.now = end
        return len(self._records["calls"]) - 1

    def _hold(self, call: int, size: int, address: int, *, release: int) -> None:
        of_call = self._records["calls"][call]
        when = {"start": of_call["start"], "end": of_call["end"]}
        more = {"call": call, "address": address, "bytes": size, "kind": memory_index("pinned"), "release": release}
        self._records["holds"].append({**when, **more})

    def _name(self, name: str) -> int:
        return self._names.setdefault(name, len(self._names))


def _returns_early(call: str, kind: str) -> bool:
    return "Async" in call and kind in ("pinned", "device")


def _columns(records: list[dict[str, float]], process: int) -> dict[str, Any]:
    """Columns of whole numbers, by when the records began."""
    names = records[0] if records else {"start": 0, "end": 0}
    rows = sorted(records, key=lambda record: record["start"])
    columns = {name: np.array([row[name] for row in rows]) for name in names}
    for name in ("start", "end"):
        columns[f"{name}_ns"] = np.round(columns.pop(name) * 1e9)
    return {name: column.astype(np.int64) for name, column in columns.items()} | {
        "process": np.full(len(rows), process, np.int64)
    }
