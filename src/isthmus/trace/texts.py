"""Names of calls in traces, as programs write them."""

import re

# Calls of OpenCL that wait, and for what; those of CUDA say it in their names.
OPENCL_WAITS = {"clFinish": "stream", "clWaitForEvents": "event"}

# ``cudaMemcpyAsync_v3020`` of CUPTI, ``cuMemcpyHtoDAsync_v2`` of the driver, and both on the per-thread default stream:
# ``cudaMemcpyAsync_ptsz_v7000``, ``cuMemcpyHtoDAsync_v2_ptsz``.
_VERSION = re.compile(r"(?:_(?:v\d+|ptsz|ptds))+\Z", re.ASCII)


def call_name(recorded: str) -> str:
    """The name of a call of the driver or the runtime; any other name as it is."""
    return _VERSION.sub("", recorded) if recorded.startswith("cu") else recorded
