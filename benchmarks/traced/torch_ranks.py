"""Two ranks of DistributedDataParallel, each of which sends a batch of ordinary memory a step; fixed: pinned ones.

The ranks are processes of their own, on one device or two; the line is of both together.
"""

import json
import subprocess
import sys
import tempfile
from datetime import timedelta
from os import environ
from typing import Any

import torch
import torch.distributed
from python_program import Program, bits, expect
from torch import nn
from torch.nn.parallel import DistributedDataParallel

RANKS = 2
# A batch of 64 MiB, and gradients so small that exchanging them takes little.
ROWS, WIDTH, CLASSES = 16384, 1024, 64
WARM_UP = 5


def main() -> None:
    """Start the ranks, or be one."""
    if "RANK" in environ:
        rank(int(environ["RANK"]))
        return
    with tempfile.TemporaryDirectory() as folder:
        settings = {**environ, "MEETING": f"file://{folder}/meeting"}
        started = [
            subprocess.Popen(
                [sys.executable, *sys.argv], env={**settings, "RANK": str(number)}, stdout=subprocess.PIPE, text=True
            )
            for number in range(RANKS)
        ]
        lines = [each.communicate()[0] for each in started]
    if any(each.returncode for each in started):
        sys.exit("a rank failed")
    print(json.dumps(joined([json.loads(line) for line in lines])))


def joined(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """The line of all ranks: they run at the same time, and copy each for itself."""
    copies = {
        direction: {what: sum(line["copies"][direction][what] for line in lines) for what in ("calls", "bytes")}
        for direction in lines[0]["copies"]
    }
    seconds, checksum = max(line["seconds"] for line in lines), sum(line["checksum"] for line in lines)
    shared = {name: lines[0][name] for name in ("program", "timed_share")}
    return {**shared, "seconds": seconds, "copies": copies, "checksum": checksum}


def rank(number: int) -> None:
    """Take the steps of one rank, and print its line."""
    program = Program(100, torch.cuda.synchronize)
    devices = torch.cuda.device_count()
    torch.cuda.set_device(number % devices)
    # nccl takes no two ranks of one device.
    backend = "nccl" if devices >= RANKS else "gloo"
    meeting = {"init_method": environ["MEETING"], "rank": number, "world_size": RANKS}
    # Where the other one has failed, this one ends, too.
    torch.distributed.init_process_group(backend, timeout=timedelta(seconds=60), **meeting)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Linear(WIDTH, CLASSES, device="cuda"))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    torch.manual_seed(number)
    batch = torch.randn(ROWS, WIDTH)
    if program.fixed:
        batch = batch.pin_memory()
    total = torch.zeros((), dtype=torch.float64, device="cuda")

    def step() -> None:
        optimizer.zero_grad()
        loss = model(batch.to("cuda", non_blocking=program.fixed)).square().mean()
        program.count("h2d", batch.nbytes)
        loss.backward()
        optimizer.step()
        total.add_(loss.detach())

    for _ in range(WARM_UP):
        step()
    torch.distributed.barrier()
    with program.timed():
        for _ in range(program.steps):
            step()
    sum_of_losses = total.item()
    program.count("d2h", 8)
    expect(0 < sum_of_losses < float("inf"), "the sum of the losses")
    torch.distributed.destroy_process_group()
    program.report(bits(sum_of_losses))


if __name__ == "__main__":
    main()
