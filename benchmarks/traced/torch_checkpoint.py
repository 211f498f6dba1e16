"""A state that goes to the host every few steps, into fresh memory; fixed: into pinned memory that is kept."""

import torch
from python_program import Program, bits, expect

# Of 40 MiB: more than malloc keeps of what was freed, so that each time the pages are new.
TENSORS, VALUES = 6, 10 << 20
EVERY = 5


def main() -> None:
    """Take the steps, and print."""
    program = Program(30, torch.cuda.synchronize)
    state = {f"layer{number}": torch.full((VALUES,), float(number), device="cuda") for number in range(TENSORS)}
    kept = {name: torch.empty(VALUES, pin_memory=True) for name in state} if program.fixed else {}
    saved: dict[str, torch.Tensor] = {}

    def step() -> None:
        for each in state.values():
            each.add_(1.0)

    def save() -> dict[str, torch.Tensor]:
        program.count("d2h", 4 * VALUES, TENSORS)
        if not program.fixed:
            return {name: each.cpu() for name, each in state.items()}
        for name, each in state.items():
            kept[name].copy_(each, non_blocking=True)
        torch.cuda.current_stream().synchronize()
        return kept

    step()
    saved = save()
    with program.timed():
        for number in range(1, program.steps + 1):
            step()
            if number % EVERY == 0 or number == program.steps:
                saved = save()
    for number, each in enumerate(saved.values()):
        expect(bool((each == number + program.steps + 1).all()), "a tensor of the last checkpoint")
    program.report(bits(sum(each.sum(dtype=torch.float64).item() for each in saved.values())))


if __name__ == "__main__":
    main()
