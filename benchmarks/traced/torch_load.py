"""Checkpoints that `torch.load` reads into fresh memory, sent to the device; fixed: by isthmus.torch."""

import tempfile
from pathlib import Path

import torch
from python_program import Program, bits, expect

# Tensors of 64 MiB.
TENSORS, VALUES = 6, 16 << 20


def main() -> None:
    """Load the file again and again, and print."""
    program = Program(8, torch.cuda.synchronize)
    total = torch.zeros((), dtype=torch.float64, device="cuda")

    def load(path: Path) -> None:
        state = torch.load(path)
        program.count("h2d", 4 * VALUES, TENSORS)
        if program.fixed:
            from isthmus.torch import state_dict_to_device

            resident = state_dict_to_device(state, "cuda")
        else:
            resident = {name: values.to("cuda") for name, values in state.items()}
        for each in resident.values():
            total.add_(each.sum(dtype=torch.float64))

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "state.pt")
        torch.save({f"layer{place}": torch.full((VALUES,), float(place + 1)) for place in range(TENSORS)}, path)
        load(path)
        with program.timed():
            for _ in range(program.steps):
                load(path)
    sum_of_all = total.item()
    program.count("d2h", 8)
    expect(sum_of_all == (program.steps + 1) * VALUES * sum(range(1, TENSORS + 1)), "the sum of the tensors")
    program.report(bits(sum_of_all))


if __name__ == "__main__":
    main()
