"""Copies pageable and pinned memory to the device and back, and prints rates as bandwidthTest does.

python bandwidth_test.py [DEVICE [MiB ...]]; 16 MiB by default
"""

import sys
import time
from collections.abc import Sequence

import numpy as np

import isthmus


def main(words: Sequence[str]) -> int:
    """Print rates as bandwidthTest does; 1 where contents did not come back."""
    device = words[0] if words else None
    right = True
    with isthmus.Session(device) as session:
        for mebibytes in map(int, words[1:] or ["16"]):
            print(f"\nDevice: {session.device}\nTransfer size (MB): {mebibytes}")
            source = np.arange(mebibytes << 18, dtype=np.float32)
            pinned = isthmus.pinned_empty(source.shape, np.float32, device=device)
            pinned[:] = source
            for name, memory in (("Pageable", source), ("Pinned", pinned)):
                right &= profile_copies(session, memory, name)
    return 0 if right else 1


def profile_copies(session: isthmus.Session, source: np.ndarray, name: str) -> bool:
    """One copy each way on the host's clock; whether the contents came back."""
    there = session.empty(source.shape, source.dtype)
    pinned = name == "Pinned"
    returned = isthmus.pinned_like(source) if pinned else np.zeros_like(source)
    print(f"\n{name} transfers")
    for what, dst, src in (("Host to Device", there, source), ("Device to Host", returned, there)):
        start = time.perf_counter()
        session.copy(dst, src)
        print(f"  {what} bandwidth (GB/s): {1e-9 * source.nbytes / (time.perf_counter() - start):f}")
    same = bool((source == returned).all())
    if not same:
        print(f"*** {name} transfers failed ***")
    return same


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
