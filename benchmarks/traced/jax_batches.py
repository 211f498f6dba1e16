"""Batches of NumPy made and sent in each step, whose loss is asked for at once; fixed: every 50 steps.

All arithmetic is of whole numbers, so that results do not depend on which kernels XLA chooses.
"""

from os import environ

# Before jax is loaded: no more of the device than this needs.
environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from python_program import Program, expect

# A batch of 4 MiB, a state of 128 MiB that a step passes over so often: longer than the host makes the next batch.
VALUES, BATCHES_IN_STATE, PASSES = 1 << 20, 32, 40
ROUNDS = 3
EVERY = 50
WARM_UP = 5


def train(state: jax.Array, batch: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A step: the new state, and its loss."""
    state = state + batch
    for _ in range(PASSES):
        # Or XLA would make one kernel of all.
        state = jax.lax.optimization_barrier(state * np.uint32(1664525) + np.uint32(1013904223))
    return state, (state.sum(dtype=jnp.uint32) & np.uint32(0xFFFF)).astype(jnp.float32)


def batch_of(step: int) -> npt.NDArray[np.uint32]:
    """What the host prepares for a step, which takes it two or three milliseconds."""
    values = np.arange(step, step + VALUES, dtype=np.uint32)
    for _ in range(ROUNDS):
        values = (values ^ (values >> np.uint32(7))) * np.uint32(2654435761)
    return values


def main() -> None:
    """Take the steps, and print."""
    state = jnp.zeros((BATCHES_IN_STATE, VALUES), jnp.uint32)

    def settle() -> None:
        state.block_until_ready()

    program = Program(150, settle)
    compiled = jax.jit(train, donate_argnums=0)
    history: list[jax.Array] = []
    total = 0.0

    def step(number: int) -> jax.Array:
        nonlocal state
        batch = jax.device_put(batch_of(number))
        program.count("h2d", 4 * VALUES)
        state, loss = compiled(state, batch)
        return loss

    def collect() -> float:
        program.count("d2h", 4, len(history))
        found = float(sum(jax.device_get(history)))
        history.clear()
        return found

    for number in range(WARM_UP):
        float(step(number))
    program.count("d2h", 4, WARM_UP)
    with program.timed():
        for number in range(WARM_UP, WARM_UP + program.steps):
            history.append(step(number))
            if not program.fixed:
                total += float(history.pop())
                program.count("d2h", 4)
            elif len(history) == EVERY:
                total += collect()
        if history:
            total += collect()
    expect(0 < total < 2**16 * program.steps, "the sum of the losses")
    program.report(int(total))


if __name__ == "__main__":
    main()
