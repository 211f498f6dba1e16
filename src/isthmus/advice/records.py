"""The records of one process of a trace, in seconds since the trace began, and the interface that made them."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from isthmus.advice.rates import Seconds
from isthmus.record import Direction
from isthmus.trace import (
    Allocations,
    Calls,
    Integers,
    Intervals,
    Trace,
    direction_index,
    memory_index,
    package,
    vendors,
)

Interface = Literal["cuda", "opencl"]
Mask = npt.NDArray[np.bool_]
ONE_WAY: tuple[Direction, ...] = ("h2d", "d2h")
_NANO = 1e-9
# Libraries that advice has code for, by their packages and by whose profiler recorded them.
_PACKAGES = {"torch": "torch", "cupy": "cupy", "jax": "jax", "jaxlib": "jax"}
_OF_MAKERS = {"kineto": "torch", "xla": "jax"}
# Vendors whose calls only their own profilers record.
_NOT_RECORDED = ("HIP", "SYCL")


class Records:
    """What one process did; rows are those of the trace's own tables."""

    def __init__(self, trace: Trace, process: int) -> None:
        self.trace = trace
        self.process = process
        self._begin_ns, end_ns = trace.span_ns
        # A single record that ends before it begins has no span.
        self.span_seconds = max(end_ns - self._begin_ns, 0) * _NANO

    def moments(self, nanoseconds: Integers) -> Seconds:
        """Seconds since the trace began."""
        return (nanoseconds - self._begin_ns).astype(np.float64) * _NANO

    @cached_property
    def copies(self) -> Integers:
        """Rows of the copies that the program made between host and device, by when they began."""
        copies = self.trace.copies
        between: Mask = np.isin(copies.direction, [direction_index(each) for each in ONE_WAY])
        wanted = between & (copies.process == self.process) & (copies.migration != 1) & (copies.bytes > 0)
        return np.flatnonzero(wanted)

    @cached_property
    def interface(self) -> Interface:
        """Whose calls made the process's copies, or most of them."""
        return interface_of(self.trace, self.copies)

    @cached_property
    def other_vendor(self) -> str:
        """As `other_vendor` of the trace."""
        return other_vendor(self.trace)

    def of(self, direction: str, kind: str = "") -> Integers:
        """Rows of the copies of one direction, with one kind of the host's memory."""
        rows = self.copies
        mask = self.trace.copies.direction[rows] == direction_index(direction)
        if kind:
            mask &= self.host_kind(rows) == memory_index(kind)
        selected: Integers = rows[mask]
        return selected

    def host_kind(self, rows: Integers) -> Integers:
        """The kind of the host's memory of each copy."""
        return self._end(rows, "source", "destination")

    def host_address(self, rows: Integers) -> Integers:
        """Where each copy's bytes lie on the host."""
        return self._end(rows, "source_address", "destination_address")

    def device_address(self, rows: Integers) -> Integers:
        """Where each copy's bytes lie on the device."""
        return self._end(rows, "destination_address", "source_address")

    def _end(self, rows: Integers, to_device: str, to_host: str) -> Integers:
        """The one column for copies to the device, the other for copies to the host."""
        copies = self.trace.copies
        inward = copies.direction[rows] == direction_index("h2d")
        ends: Integers = np.where(inward, getattr(copies, to_device)[rows], getattr(copies, to_host)[rows])
        return ends

    def device_begin(self, rows: Integers) -> Seconds:
        """When each copy began on the device."""
        return self.moments(self.trace.copies.start_ns[rows])

    def device_end(self, rows: Integers) -> Seconds:
        """When it ended there, and not before it began."""
        copies = self.trace.copies
        return self.moments(np.maximum(copies.end_ns[rows], copies.start_ns[rows]))

    def beside_others(self, rows: Integers, *, elsewhere: bool = False) -> Mask:
        """Whether another copy between host and the same device, of any process, ran while each did.

        With `elsewhere`, one of another device: it has a link of its own, unless they share a switch.
        """
        copies = self.trace.copies
        directions = [direction_index(direction) for direction in ONE_WAY]
        every = np.isin(copies.direction, directions) & (copies.migration != 1)
        concurrent: Mask = np.zeros(len(rows), bool)
        for device in np.unique(copies.device[rows]):
            mine = copies.device[rows] == device
            others = np.flatnonzero(every & ((copies.device == device) != elsewhere))
            begins, ends = np.sort(self.device_begin(others)), np.sort(self.device_end(others))
            begun = np.searchsorted(begins, self.device_end(rows[mine]))
            running = begun - np.searchsorted(ends, self.device_begin(rows[mine]), "right")
            concurrent[mine] = running > (0 if elsewhere else 1)
        return concurrent

    def lasted(self, table: Calls | Allocations, rows: Integers) -> Seconds:
        """How long records of the host took."""
        return np.maximum(table.lasted_ns[rows], 0) * _NANO

    @cached_property
    def kernels(self) -> tuple[Seconds, Seconds]:
        """When kernels began and ended, by when they began."""
        return self.working(self.trace.kernels)

    def working(self, table: Intervals) -> tuple[Seconds, Seconds]:
        """When this process's intervals of a table began and ended."""
        mine = table.process == self.process
        start = table.start_ns[mine]
        return self.moments(start), self.moments(np.maximum(table.end_ns[mine], start))


def interface_of(trace: Trace, copies: Integers) -> Interface:
    """By whose calls most of these copies were made; CUDA's where no calls are known, as OpenCL's always are."""
    calls = trace.copies.call[copies]
    names = trace.calls.name[calls[(calls >= 0) & (calls < len(trace.calls))]]
    return "opencl" if _most_are(trace, names, "OpenCL") else "cuda"


def library_of(traces: Sequence[Trace]) -> str:
    """The library of Python that most lines of the program lead through, else whose profiler recorded it; or none."""
    sites = (site for trace in traces for site in trace.sites)
    named = Counter(next((known for frame in site if (known := _PACKAGES.get(package(frame)))), "") for site in sites)
    del named[""]
    if named:
        return named.most_common(1)[0][0]
    makers = {trace.maker for trace in traces}
    return _OF_MAKERS.get(makers.pop(), "") if len(makers) == 1 else ""


def other_vendor(trace: Trace) -> str:
    """The vendor whose calls most are where `isthmus trace` records none of it; empty for CUDA's and OpenCL's."""
    if trace.maker == "rocprof":
        return "HIP"
    return next((vendor for vendor in _NOT_RECORDED if _most_are(trace, trace.calls.name, vendor)), "")


def _most_are(trace: Trace, names: Integers, vendor: str) -> bool:
    """Whether most of these names of calls are a vendor's."""
    whose = [vendors.vendor_of(name) for name in trace.names]
    ours = [place for place, owner in enumerate(whose) if owner is not None and owner.name == vendor]
    return 2 * int(np.isin(names, ours).sum()) > names.size


def interface_of_all(traces: Sequence[Trace]) -> Interface:
    """OpenCL's where it made most copies of every trace that has any."""
    interfaces = {interface_of(trace, np.arange(len(trace.copies))) for trace in traces if len(trace.copies)}
    return "opencl" if interfaces == {"opencl"} else "cuda"
