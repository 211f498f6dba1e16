"""Copies of CuPy, one kind a line, and what a trace must show of each line.

Prints a line of JSON: which lines copy how often, which way, and from or to which kind of the host's memory. `set` and
`get` copy the array that they are given; `cupy.asarray` would go through pinned memory of CuPy's own.
"""

import json
import sys
from collections.abc import Iterator

import cupy
import cupyx
import numpy as np

VALUES = 1 << 20
BYTES = 4 * VALUES
CALLS = 10


def several(copied: list[dict[str, object]], direction: str, kind: str) -> Iterator[int]:
    """CALLS turns of a loop whose body is the line below it: one copy of the whole buffer."""
    line = sys._getframe(1).f_lineno + 1
    copied.append({"line": line, "direction": direction, "kind": kind, "bytes": BYTES * CALLS, "calls": CALLS})
    yield from range(CALLS)


def main() -> None:
    """Copy, check what came back, and print."""
    ordinary = np.arange(VALUES, dtype=np.int32)
    ordinary_back = np.zeros(VALUES, np.int32)
    pinned = cupyx.empty_pinned(VALUES, np.int32)
    pinned[:] = ordinary
    pinned_back = cupyx.zeros_pinned(VALUES, np.int32)
    first, second = cupy.empty(VALUES, np.int32), cupy.empty(VALUES, np.int32)
    stream = cupy.cuda.Stream(non_blocking=True)
    copied: list[dict[str, object]] = []

    for _ in several(copied, "h2d", "pageable"):
        first.set(ordinary)
    for _ in several(copied, "h2d", "pinned"):
        second.set(pinned, stream=stream)
    for _ in several(copied, "d2h", "pageable"):
        first.get(out=ordinary_back)
    for _ in several(copied, "d2h", "pinned"):
        second.get(out=pinned_back, stream=stream)
    stream.synchronize()

    if not (np.array_equal(ordinary, ordinary_back) and np.array_equal(pinned, pinned_back)):
        sys.exit("cupy_copies: what came back is not what was sent")
    print(json.dumps({"program": "cupy_copies", "copied": copied}))


if __name__ == "__main__":
    main()
