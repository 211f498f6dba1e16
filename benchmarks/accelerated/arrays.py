"""What other frameworks do: arrays.py cupy|jax|numba moves 256 MiB each way."""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

SIZE = 256 << 20


def ways(name: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """To the device and back, each of which returns when all is there."""
    if name == "cupy":
        import cupy

        def sent(host: Any) -> Any:
            there = cupy.asarray(host)
            cupy.cuda.Device().synchronize()
            return there

        return sent, cupy.asnumpy
    if name == "jax":
        import jax

        return (
            lambda host: jax.device_put(host, jax.devices()[0]).block_until_ready(),
            # An array keeps what was fetched of it once.
            lambda there: np.asarray(there + 0),
        )
    from numba import cuda

    return cuda.to_device, lambda there: there.copy_to_host()


def main(name: str) -> None:
    """Print the rates."""
    send, fetch = ways(name)
    host = np.random.default_rng(1).random(SIZE // 4, dtype=np.float32)
    wrong = 0
    for turn in range(7):
        begin = time.perf_counter()
        there = send(host)
        sent = time.perf_counter()
        back = fetch(there)
        fetched = time.perf_counter()
        wrong += not np.array_equal(host, back)
        if turn:
            print(f"h2d_gbs {SIZE / (sent - begin) / 1e9:.3f}\nd2h_gbs {SIZE / (fetched - sent) / 1e9:.3f}", flush=True)
    print(f"wrong {wrong}")


main(sys.argv[1])
