"""Traces of programs whose kernels were recorded in windows alone, made of those with all."""

import random
from dataclasses import replace

import numpy as np

from isthmus.trace import UNKNOWN, Trace, Windows

LAUNCH = "cudaLaunchKernel"


def in_windows(trace: Trace, count: int = 25, share: float = 0.4, process: int = 0) -> Trace:
    """As `isthmus trace` records it: kernels of so many windows, which take a share of the time, and no launches."""
    launches = trace.calls.name == trace.names.index(LAUNCH)
    begin, end = trace.span_ns
    drawn, period = random.Random(0), (end - begin) / count
    starts = [begin + period * (place + drawn.uniform(0, 1 - share)) for place in range(count)]
    start_ns = np.array(starts).astype(np.int64)
    launched = trace.calls.start_ns[trace.kernels.call]
    before = np.append(launched, begin)[np.searchsorted(launched, start_ns) - 1]
    windows = Windows(start_ns, start_ns + round(period * share), np.full(count, process), before)
    place = np.searchsorted(windows.start_ns, launched, "right") - 1
    recorded = (place >= 0) & (launched < windows.end_ns[np.maximum(place, 0)])
    kernels = trace.kernels.taken(recorded)
    renumbered = np.where(launches, UNKNOWN, np.cumsum(~launches) - 1)
    return replace(
        trace,
        calls=trace.calls.taken(~launches),
        copies=replace(trace.copies, call=renumbered[trace.copies.call]),
        allocations=replace(trace.allocations, call=renumbered[trace.allocations.call]),
        kernels=replace(kernels, call=np.full(len(kernels), UNKNOWN)),
        windows=windows,
    )
