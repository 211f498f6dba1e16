"""The programming interface whose words and code a finding speaks: CUDA's or OpenCL's."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from isthmus.trace import Integers, Trace

Interface = Literal["cuda", "opencl"]


def interface_of(trace: Trace, copies: Integers) -> Interface:
    """By whose calls most of these copies were made; CUDA's where no calls are known, as OpenCL's always are."""
    calls = trace.copies.call[copies]
    names = trace.calls.name[calls[(calls >= 0) & (calls < len(trace.calls))]]
    # Functions of CUDA begin with cu or cuda.
    ours = [place for place, name in enumerate(trace.names) if name.startswith("cl")]
    return "opencl" if 2 * int(np.isin(names, ours).sum()) > names.size else "cuda"


def interface_of_all(traces: Sequence[Trace]) -> Interface:
    """OpenCL's where it made most copies of every trace that has any."""
    found = {interface_of(trace, np.arange(len(trace.copies))) for trace in traces if len(trace.copies)}
    return "opencl" if found == {"opencl"} else "cuda"
