"""Adam on the host: gradients come, weights go, each through ordinary memory; fixed: through pinned memory."""

import torch
from python_program import Program, bits, expect

# Four tensors of 32 MiB.
TENSORS, WIDTH, LENGTH, ROWS = 4, 2048, 4096, 512


def main() -> None:
    """Take the steps, and print."""
    program = Program(12, torch.cuda.synchronize)
    torch.manual_seed(0)
    weights = [torch.randn(LENGTH, WIDTH, device="cuda", requires_grad=True) for _ in range(TENSORS)]
    given = torch.randn(ROWS, LENGTH, device="cuda") / LENGTH**0.5
    masters = [each.detach().cpu() for each in weights]
    program.count("d2h", 4 * LENGTH * WIDTH, TENSORS)
    if program.fixed:
        masters = [each.pin_memory() for each in masters]
        arriving = [torch.empty_like(each).pin_memory() for each in masters]
    masters = [each.requires_grad_() for each in masters]
    optimizer = torch.optim.Adam(masters, lr=1e-3, fused=True)
    total = torch.zeros((), dtype=torch.float64, device="cuda")

    def step() -> None:
        loss = sum(((given @ each) ** 2).mean() for each in weights)
        loss.backward()
        for number, (each, master) in enumerate(zip(weights, masters, strict=True)):
            program.count("d2h", master.nbytes)
            program.count("h2d", master.nbytes)
            if program.fixed:
                master.grad = arriving[number].copy_(each.grad, non_blocking=True)
            else:
                master.grad = each.grad.cpu()
        torch.cuda.current_stream().synchronize()
        optimizer.step()
        for each, master in zip(weights, masters, strict=True):
            each.detach().copy_(master.detach(), non_blocking=program.fixed)
            each.grad = None
        total.add_(loss.detach())

    step()
    with program.timed():
        for _ in range(program.steps):
            step()
    sum_of_losses = total.item()
    program.count("d2h", 8)
    expect(0 < sum_of_losses < float("inf"), "the sum of the losses")
    program.report(bits(sum_of_losses))


if __name__ == "__main__":
    main()
