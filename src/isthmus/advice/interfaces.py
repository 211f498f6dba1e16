"""The programming interface whose words and code a finding speaks: CUDA's or OpenCL's."""

from typing import Literal

import numpy as np

from isthmus.trace import Integers, Trace

__all__ = ["Interface", "interface_of"]

Interface = Literal["cuda", "opencl"]


def interface_of(trace: Trace, copies: Integers) -> Interface:
    """By whose calls most of these copies were made; CUDA's where no calls are known, as OpenCL's always are."""
    calls = trace.copies.call[copies]
    names = trace.calls.name[calls[(calls >= 0) & (calls < len(trace.calls))]]
    # Functions of CUDA begin with cu or cuda.
    ours = [place for place, name in enumerate(trace.names) if name.startswith("cl")]
    return "opencl" if 2 * int(np.isin(names, ours).sum()) > names.size else "cuda"
