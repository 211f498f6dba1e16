"""A state that goes to NumPy and comes back between steps, though only the device works on it; fixed: it stays."""

import cupy
import numpy as np
from python_program import Program, expect

# 32 MiB.
VALUES = 8 << 20
FACTOR, SUMMAND = 1664525, 1013904223


def main() -> None:
    """Take the steps, and print."""
    program = Program(40, lambda: cupy.cuda.Device().synchronize())
    advance = cupy.ElementwiseKernel("uint32 x", "uint32 y", f"y = {FACTOR}u * x + {SUMMAND}u", "advance")
    state = cupy.arange(VALUES, dtype=cupy.uint32)

    def step(state: cupy.ndarray) -> cupy.ndarray:
        state = advance(state)
        if program.fixed:
            return state
        host = cupy.asnumpy(state)
        program.count("d2h", host.nbytes)
        program.count("h2d", host.nbytes)
        return cupy.asarray(host)

    state = step(state)
    with program.timed():
        for _ in range(program.steps):
            state = step(state)
    last = cupy.asnumpy(state)
    program.count("d2h", last.nbytes)
    expected = np.arange(VALUES, dtype=np.uint32)[::4099]
    for _ in range(program.steps + 1):
        expected = np.uint32(FACTOR) * expected + np.uint32(SUMMAND)
    expect(np.array_equal(last[::4099], expected), "the last state")
    program.report(int(last.sum(dtype=np.uint64)))


if __name__ == "__main__":
    main()
