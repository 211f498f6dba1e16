"""What programs of torch do: workloads.py NAME prints what each took, the first pass left out."""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

GB = 1e9


@contextmanager
def timed(name: str, size: int = 0, *, first: bool = False) -> Iterator[None]:
    """Print how long it took, or the rate."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    yield
    torch.cuda.synchronize()
    seconds = time.perf_counter() - begin
    if not first:
        print(f"{name}_gbs {size / seconds / GB:.3f}" if size else f"{name}_seconds {seconds:.5f}", flush=True)


def moves() -> int:
    """`x.to("cuda")` of 256 MiB, `.cpu()` of 1 GiB."""
    sent = torch.rand(64 << 20)
    for turn in range(6):
        with timed("to", sent.nbytes, first=not turn):
            there = sent.to("cuda")
    wrong = int(not torch.equal(there.cpu(), sent))
    large = torch.rand(256 << 20, device="cuda")
    for turn in range(6):
        with timed("cpu", large.nbytes, first=not turn):
            back = large.cpu()
        wrong += not torch.equal(back[-(1 << 20) :], large[-(1 << 20) :].cpu())
        del back
    # One after the other, what each left in the caches gone.
    for turn in range(6):
        with timed("to_between", sent.nbytes, first=not turn):
            there = sent.to("cuda")
        del there
        large.cpu()
    return wrong


def state_dict() -> int:
    """Ten training steps, and the weights to the host."""
    model = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(24)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    batch = torch.rand(64, 4096, device="cuda")
    wrong = 0
    for turn in range(5):
        with timed("steps_and_state", first=not turn):
            for _ in range(10):
                optimizer.zero_grad()
                model(batch).square().mean().backward()
                optimizer.step()
            state = {name: value.cpu() for name, value in model.state_dict().items()}
        wrong += not torch.equal(state["0.weight"], model[0].weight.detach().cpu())
    return wrong


def batches() -> int:
    """Training from batches in pageable memory."""
    data = [torch.rand(256, 3, 128, 128) for _ in range(32)]
    layer = torch.nn.Conv2d(3, 32, 7, stride=4).cuda()
    for turn in range(5):
        with timed("pass", first=not turn):
            for batch in data:
                layer(batch.to("cuda")).sum()
    return int(not torch.equal(data[0].to("cuda").cpu(), data[0]))


def offload() -> int:
    """A transformer whose weights stay in the host's memory."""
    from accelerate import cpu_offload
    from transformers import AutoModelForCausalLM, GPT2Config

    model = AutoModelForCausalLM.from_config(GPT2Config(n_layer=24, n_embd=1024, n_head=16)).eval()
    cpu_offload(model, execution_device=0)
    tokens = torch.zeros(1, 64, dtype=torch.long, device="cuda")
    with torch.no_grad():
        before = model(tokens).logits
        for turn in range(7):
            with timed("forward", first=turn < 2):
                after = model(tokens).logits
    return int(not torch.equal(before, after))


def weights() -> int:
    """Weights of 7 GB in safetensors, from the page cache."""
    from safetensors.torch import load_file, save_file

    path = Path(tempfile.gettempdir()) / "isthmus-weights.safetensors"
    if not path.exists():
        save_file({f"t{place}": torch.rand(6 << 20) for place in range(288)}, path)
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass
    torch.zeros(1, device="cuda")
    for turn in range(4):
        with timed("load", first=not turn):
            loaded = load_file(path, device="cuda")
        if turn < 3:
            del loaded
    there = load_file(path)
    return sum(not torch.equal(there[name], loaded[name].cpu()) for name in ("t0", "t100", "t287"))


def loader() -> int:
    """A DataLoader of eight workers, with pinned memory and without."""
    from torch.utils.data import DataLoader, TensorDataset

    data = TensorDataset(torch.rand(4096, 3, 128, 128))
    for turn in range(4):
        for pinned in (False, True):
            batches = DataLoader(data, batch_size=128, num_workers=8, pin_memory=pinned)
            with timed("pinned_epoch" if pinned else "pageable_epoch", first=not turn):
                for (batch,) in batches:
                    batch.to("cuda", non_blocking=True)
    return 0


def right() -> int:
    """A program that does everything right: pinned copies on a stream of their own beside products."""
    source, there = torch.rand(64 << 20).pin_memory(), torch.empty(64 << 20, device="cuda")
    stream, factor = torch.cuda.Stream(), torch.rand(2048, 2048, device="cuda")
    for turn in range(8):
        with timed("right", first=not turn):
            for _ in range(20):
                with torch.cuda.stream(stream):
                    there.copy_(source, non_blocking=True)
                factor @ factor
    return int(not torch.equal(there.cpu(), source))


WORKLOADS: dict[str, Callable[[], int]] = {
    each.__name__: each for each in (moves, state_dict, batches, offload, weights, loader, right)
}

if __name__ == "__main__":
    print(f"wrong {WORKLOADS[sys.argv[1]]()}")
