"""What the benchmarks of `isthmus.torch` share: contenders in turns, each first checked, and a table of medians."""

import random
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from transfer_turns import Contender, Turns, take_turns, timed

GB = 1e9


class Way(NamedTuple):
    """One way to do a thing: `once` does all of it; `check` says what is wrong with what it does, or nothing."""

    name: str
    once: Callable[[], object]
    check: Callable[[], str]


def in_turns(ways: Sequence[Way], seconds: float) -> Turns:
    """Check every way and let them take turns, each until the device has done all; what it gave is let go of later."""

    def run(way: Way) -> float:
        torch.cuda.synchronize()
        given: list[object] = []

        def work() -> None:
            given.append(way.once())
            torch.cuda.synchronize()

        return timed(work)

    contenders = [Contender(way.name, lambda _, way=way: run(way), way.check) for way in ways]  # type: ignore[misc]
    return take_turns(contenders, seconds, random.Random(5))


def table(title: str, turns: Turns, bars: dict[str, str], size: int = 0) -> bool:
    """Print medians with their intervals, the rates of so many bytes, and the bars; whether all were right."""
    print(f"\n{title}")
    print(f"{'way':44} {'median ms':>10} {'95 % interval':>18} {'GB/s':>7} {'runs':>5}  bar")
    for name, samples in turns.samples.items():
        found = turns.interval(name)
        if found is None:
            continue
        interval = f"{found.low * 1e3:.2f} to {found.high * 1e3:.2f}"
        rate = f"{size / found.median / GB:.2f}" if size else ""
        bar = bars.get(name, "")
        print(f"{name:44} {found.median * 1e3:10.2f} {interval:>18} {rate:>7} {len(samples):5}  {bar}")
    for name, why in {**turns.left_out, **turns.wrong}.items():
        print(f"{name}: {why}")
    return not turns.wrong


def shares(turns: Turns, ours: str, others: Sequence[str]) -> None:
    """Print how many times as long as ours each of the others takes."""
    own = turns.seconds(ours)
    for name in others:
        other = turns.seconds(name)
        if own and other:
            print(f"{name} takes {other / own:.3f} times as long as {ours}")


def need_gpu() -> None:
    """End here with a sentence where torch sees no GPU."""
    if not torch.cuda.is_available():
        sys.exit(f"torch {torch.__version__} sees no CUDA device; this benchmark needs one")
    torch.cuda.init()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Python {sys.version.split()[0]}")
