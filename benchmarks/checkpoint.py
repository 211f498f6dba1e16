"""A state of 1 GiB from a GPU to the host and back: into fresh memory, into kept buffers, and by torch's own calls.

checkpoint.py [--gib 1.0] [--seconds 60]: a transformer's parameters, large and small, and their Adam moments.
"""

import argparse
import sys
from typing import Any

import torch
from torch_turns import Way, in_turns, need_gpu, shares, table

from isthmus.torch import state_dict_to_device, state_dict_to_host
from isthmus.torch.nested import mapped, tensors

FRESH, KEPT, PINNED = (
    "state_dict_to_host, fresh",
    "state_dict_to_host, kept pageable",
    "state_dict_to_host, kept pinned",
)
CPU, PINNED_COPY, ONE_PINNED = ".cpu() of each", "copy_ into kept pinned", "one pinned block of the size"
BACK, TO = "state_dict_to_device, fresh", '.to("cuda") of each'
WIDTH = 1024


def state_of(size: int) -> dict[str, Any]:
    """Blocks of a transformer until the state has about so many bytes: twelve squares of its width, and vectors."""
    blocks = max(1, size // 3 // (12 * WIDTH * WIDTH * 4))
    model: dict[str, Any] = {}
    for number in range(blocks):
        shapes = {
            "qkv": (3 * WIDTH, WIDTH),
            "out": (WIDTH, WIDTH),
            "up": (4 * WIDTH, WIDTH),
            "down": (WIDTH, 4 * WIDTH),
        }
        for name, shape in shapes.items():
            model[f"{number}.{name}.weight"] = torch.randn(shape, device="cuda")
            model[f"{number}.{name}.bias"] = torch.randn(shape[0], device="cuda")
        for norm in ("before", "after"):
            model[f"{number}.{norm}.weight"] = torch.randn(WIDTH, device="cuda")
    moments = [{"exp_avg": torch.randn_like(one), "exp_avg_sq": torch.randn_like(one)} for one in model.values()]
    return {"model": model, "optimizer": {"state": dict(enumerate(moments))}, "step": 1000}


def wrong_in(state: Any, copied: Any) -> str:
    """What differs between them."""
    expected, found = dict(tensors(state)), dict(tensors(copied))
    if expected.keys() != found.keys():
        return "other tensors"
    return next(
        (f"{path} differs" for path, one in expected.items() if not torch.equal(one.cpu(), found[path].cpu())), ""
    )


def main() -> int:
    """Let the ways take turns, and print what each took; 1 where one was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    asked = parser.parse_args()
    need_gpu()
    state = state_of(int(asked.gib * (1 << 30)))
    size = sum(tensor.nbytes for _, tensor in tensors(state))
    count = sum(1 for _ in tensors(state))
    kept = state_dict_to_host(state)
    pinned = mapped(state, lambda tensor: torch.empty_like(tensor, device="cpu", pin_memory=True))
    block, on_device = (
        torch.empty(size, dtype=torch.uint8, pin_memory=True),
        torch.empty(size, dtype=torch.uint8).cuda(),
    )

    def into_pinned() -> Any:
        for (_, tensor), (_, there) in zip(tensors(state), tensors(pinned), strict=True):
            there.copy_(tensor, non_blocking=True)
        torch.cuda.synchronize()
        return pinned

    def poisoned(out: Any) -> Any:
        mapped(out, lambda tensor: tensor.fill_(7))
        return out

    host = state_dict_to_host(state)
    ways = [
        Way(FRESH, lambda: state_dict_to_host(state), lambda: wrong_in(state, state_dict_to_host(state))),
        Way(
            KEPT,
            lambda: state_dict_to_host(state, out=kept),
            lambda: wrong_in(state, state_dict_to_host(state, out=poisoned(kept))),
        ),
        Way(
            PINNED,
            lambda: state_dict_to_host(state, out=pinned),
            lambda: wrong_in(state, state_dict_to_host(state, out=poisoned(pinned))),
        ),
        Way(CPU, lambda: mapped(state, lambda tensor: tensor.cpu()), lambda: ""),
        Way(PINNED_COPY, into_pinned, lambda: wrong_in(state, into_pinned())),
        Way(ONE_PINNED, lambda: block.copy_(on_device), lambda: ""),
        Way(BACK, lambda: state_dict_to_device(host), lambda: wrong_in(state, state_dict_to_device(host))),
        Way(TO, lambda: mapped(host, lambda tensor: tensor.to("cuda")), lambda: ""),
    ]
    turns = in_turns(ways, asked.seconds)
    bars = {FRESH: ">= 28 GB/s, >= 15 x .cpu()", PINNED: f"within 5 % of {ONE_PINNED}"}
    right = table(f"{size / (1 << 30):.3f} GiB in {count} tensors", turns, bars, size)
    shares(turns, FRESH, [CPU])
    shares(turns, PINNED, [PINNED_COPY, ONE_PINNED])
    shares(turns, BACK, [TO])
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
