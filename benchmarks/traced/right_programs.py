"""Programs that are right as they are, by name: torch_resident, torch_captured and jax_resident.

python right_programs.py NAME
"""

import json
import sys
import time
from collections.abc import Callable


def torch_resident() -> tuple[Callable[[], None], Callable[[], object]]:
    """Weights and inputs stay on the device; one answer comes to the host at the end."""
    import torch

    torch.manual_seed(0)
    weights = [torch.randn(4096, 4096, device="cuda") / 64 for _ in range(4)]
    given = torch.randn(2048, 4096, device="cuda")
    total = torch.zeros((), device="cuda")

    def work() -> None:
        for _ in range(100):
            values = given
            for weight in weights:
                values = torch.relu(values @ weight)
            total.add_(values.sum())

    return work, total.item


def torch_captured() -> tuple[Callable[[], None], Callable[[], object]]:
    """A CUDA graph of a step, and pinned batches sent ahead on a stream of their own."""
    import torch

    torch.manual_seed(0)
    weights = [torch.randn(4096, 4096, device="cuda") / 64 for _ in range(4)]
    host = [torch.randn(1024, 4096).pin_memory() for _ in range(2)]
    device = [torch.empty(1024, 4096, device="cuda") for _ in range(2)]
    given, total = torch.zeros(1024, 4096, device="cuda"), torch.zeros((), device="cuda")
    sending = torch.cuda.Stream()
    arrived, used = [torch.cuda.Event() for _ in range(2)], [torch.cuda.Event() for _ in range(2)]

    def step() -> None:
        values = given
        for weight in weights:
            values = torch.relu(values @ weight)
        total.add_(values.sum())

    with torch.cuda.stream(torch.cuda.Stream()):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()

    def send(number: int) -> None:
        at = number % 2
        sending.wait_event(used[at])
        with torch.cuda.stream(sending):
            device[at].copy_(host[at], non_blocking=True)
            arrived[at].record()

    def work() -> None:
        send(0)
        for number in range(200):
            send(number + 1)
            torch.cuda.current_stream().wait_event(arrived[number % 2])
            given.copy_(device[number % 2])
            used[number % 2].record()
            graph.replay()

    return work, total.item


def jax_resident() -> tuple[Callable[[], None], Callable[[], object]]:
    """A loop within one compiled function, of which the last state's sum comes to the host."""
    import jax
    import jax.numpy as jnp

    advance = jax.jit(lambda state: jax.lax.fori_loop(0, 50, lambda _, x: jnp.tanh(x @ x) / 2, state))
    states = [advance(jnp.ones((2048, 2048)) / 2048)]

    def work() -> None:
        for _ in range(20):
            states.append(advance(states.pop()))

    return work, lambda: float(states[0].sum())


def main() -> None:
    """Do the work of the one that is named, and print a line as the others do."""
    work, result = {each.__name__: each for each in (torch_resident, torch_captured, jax_resident)}[sys.argv[1]]()
    begin = time.perf_counter()
    work()
    result()
    seconds = time.perf_counter() - begin
    print(json.dumps({"program": sys.argv[1], "seconds": seconds, "copies": {}, "checksum": 0}))


if __name__ == "__main__":
    main()
