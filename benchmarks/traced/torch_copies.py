"""Copies of torch, one kind a line, and what a trace must show of each line.

Prints a line of JSON: which lines copy how often, which way, and from or to which kind of the host's memory.
"""

import json
import sys
from collections.abc import Iterator

import torch

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
    ordinary = torch.arange(VALUES, dtype=torch.int32)
    ordinary_back = torch.zeros(VALUES, dtype=torch.int32)
    pinned = torch.arange(VALUES, dtype=torch.int32).pin_memory()
    pinned_back = torch.zeros(VALUES, dtype=torch.int32).pin_memory()
    device = torch.empty(VALUES, dtype=torch.int32, device="cuda")
    copied: list[dict[str, object]] = []

    for _ in several(copied, "h2d", "pageable"):
        fresh = ordinary.to("cuda")
    for _ in several(copied, "h2d", "pinned"):
        device.copy_(pinned, non_blocking=True)
    for _ in several(copied, "d2h", "pageable"):
        ordinary_back.copy_(fresh)
    for _ in several(copied, "d2h", "pinned"):
        pinned_back.copy_(device, non_blocking=True)
    torch.cuda.synchronize()

    if not (torch.equal(ordinary, ordinary_back) and torch.equal(pinned, pinned_back)):
        sys.exit("torch_copies: what came back is not what was sent")
    print(json.dumps({"program": "torch_copies", "copied": copied}))


if __name__ == "__main__":
    main()
