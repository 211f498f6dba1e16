"""Batches of arrays that a program has in lists already, by copy_batch and by the loops that people write for them.

python benchmarks/batches.py [--device cuda:0] [--pieces 16384] [--bytes 32KiB] [--time SECONDS] [-o FOLDER]

Rows of one page-locked pool and rows of one pool of the device, in an order drawn at random: as tensors of torch on
both sides, as arrays of NumPy and of Isthmus, and as arrays of NumPy and of CuPy. Every contender is checked byte by
byte before it is timed. -o writes batches.md and batches.json.gz. Exit code 1: a bar was missed or data was wrong.
Without CUDA nothing meets a bar.
"""

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np
from finding import Finding, decided, measured, shown
from finding_table import line, summary, write
from transfer_bench import OURS, POISON, best_of, difference
from transfer_driver import CudaDriver, open_driver
from transfer_peers import Bytes
from transfer_turns import Contender, take_turns, timed

import isthmus
from isthmus.errors import IsthmusError, Unsupported, exit_code
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.machine.fingerprint import read_fingerprint
from isthmus.record import KIB, format_bytes, parse_bytes

RATE, PAIR_SECONDS = 20.0, 1e-6
# CuPy has no functions in C that tell of an array.
PAIR_SECONDS_OF_CUPY = 3e-6
LOOP, FOREACH = "torch, a loop of copy_", "torch._foreach_copy_"
PREPARING = "isthmus, all but moving"


@dataclass
class Rows:
    """Rows of two pools of the same size: lists that exist before anything is timed, and the pools as bytes."""

    host: list[Any]
    device: list[Any]
    host_bytes: Bytes
    fill_device: Callable[[Bytes], None]
    read_device: Callable[[], Bytes]
    # Of whoever copies by other means; each is given destinations and sources, and returns when all has arrived.
    others: dict[str, Callable[[list[Any], list[Any]], None]]


class Pools:
    """The device, its session, and how many rows of which size there are."""

    def __init__(self, device: OpenDevice, pieces: int, size: int, seconds: float, seed: int) -> None:
        self.device, self.pieces, self.size, self.seconds = device, pieces, size, seconds
        self.order = Random(seed)
        self.session = isthmus.Session(device.description.spec)
        self.driver = open_driver(device)
        numbers = np.random.default_rng(seed)
        self.pattern: Bytes = numbers.integers(0, 256, pieces * size, np.uint8)
        self.host_places = numbers.permutation(pieces).tolist()
        self.device_places = numbers.permutation(pieces).tolist()

    @property
    def is_cuda(self) -> bool:
        """Whether figures say anything."""
        return isinstance(self.driver, CudaDriver)

    def of_torch(self) -> Rows:
        """Tensors on both sides. Raises Unsupported where there is no torch."""
        try:
            import torch
        except ImportError as error:
            raise Unsupported(f"torch is not installed: {error}") from error
        place = torch.device("cuda", self.device.description.index) if self.is_cuda else torch.device("cpu")
        shape = (self.pieces, self.size)
        there = torch.zeros(shape, dtype=torch.uint8, device=place)
        here = torch.zeros(shape, dtype=torch.uint8, pin_memory=self.is_cuda)
        wait = torch.cuda.synchronize if self.is_cuda else lambda _: None

        def loop(to: list[Any], source: list[Any]) -> None:
            for each, other in zip(to, source, strict=True):
                each.copy_(other, non_blocking=True)
            wait(place)

        def foreach(to: list[Any], source: list[Any]) -> None:
            torch._foreach_copy_(to, source, non_blocking=True)
            wait(place)

        def fill(content: Bytes) -> None:
            there.view(-1).copy_(torch.from_numpy(content))
            wait(place)

        return Rows(
            [here[number] for number in self.host_places],
            [there[number] for number in self.device_places],
            here.numpy().reshape(-1),
            fill,
            lambda: there.cpu().numpy().reshape(-1),
            {LOOP: loop, FOREACH: foreach},
        )

    def of_numpy(self) -> Rows:
        """Views of one page-locked array, and of one array of Isthmus."""
        here = self.driver.pinned(self.pattern.size)
        there = self.session.empty((self.pieces, self.size), np.uint8)
        rows = here.reshape(self.pieces, self.size)

        def loop(to: list[Any], source: list[Any]) -> None:
            for each, other in zip(to, source, strict=True):
                self.session.copy(each, other)

        return Rows(
            [rows[number] for number in self.host_places],
            [there[number] for number in self.device_places],
            here,
            lambda content: self.session.copy(there, content.reshape(self.pieces, self.size)),
            lambda: self.session.to_host(there).reshape(-1),
            {"isthmus.copy, a loop": loop},
        )

    def of_cupy(self) -> Rows:
        """Views of one page-locked array, and of one array of CuPy. Raises Unsupported where CuPy has no device."""
        try:
            import cupy
        except ImportError as error:
            raise Unsupported(f"CuPy is not installed: {error}") from error
        if not self.is_cuda:
            raise Unsupported("CuPy has arrays of GPUs alone")
        cupy.cuda.Device(self.device.description.index).use()
        here = self.driver.pinned(self.pattern.size)
        there = cupy.zeros((self.pieces, self.size), cupy.uint8)
        rows = here.reshape(self.pieces, self.size)

        def loop(to: list[Any], source: list[Any]) -> None:
            for each, other in zip(to, source, strict=True):
                if isinstance(each, cupy.ndarray):
                    each.set(other)
                else:
                    other.get(out=each)
            cupy.cuda.get_current_stream().synchronize()

        def fill(content: Bytes) -> None:
            there.set(content.reshape(self.pieces, self.size))
            cupy.cuda.get_current_stream().synchronize()

        return Rows(
            [rows[number] for number in self.host_places],
            [there[number] for number in self.device_places],
            here,
            fill,
            lambda: there.get().reshape(-1),
            {"CuPy, a loop of set or get": loop},
        )


def bar(pair_seconds: float) -> str:
    """What is asked of a batch, whose pairs take so long before anything moves."""
    return f">= {RATE:g} GB/s, <= {pair_seconds * 1e6:g} us a pair before it moves"


def measure(
    pools: Pools, make: Callable[[Pools], Rows], name: str, to_device: bool, pair_seconds: float = PAIR_SECONDS
) -> Finding:
    """All rows one way by every contender, and what ours takes of it before anything moves."""
    total = pools.pattern.size
    case = f"{pools.pieces} x {format_bytes(pools.size)}, {name}, {'h2d' if to_device else 'd2h'}"
    finding = Finding(case, bar(pair_seconds), bytes=total)
    rows = make(pools)
    destinations, sources = (rows.device, rows.host) if to_device else (rows.host, rows.device)
    ways = {OURS: pools.session.copy_batch, **rows.others}

    def check(way: Callable[[list[Any], list[Any]], None]) -> str:
        poison = np.full_like(pools.pattern, POISON)
        rows.host_bytes[:] = pools.pattern if to_device else poison
        rows.fill_device(poison if to_device else pools.pattern)
        way(destinations, sources)
        # Each row where the other side's lists say that it goes.
        arrived, sent = (rows.read_device(), pools.pattern) if to_device else (rows.host_bytes, pools.pattern)
        to, source = pools.device_places, pools.host_places
        if not to_device:
            to, source = source, to
        expected = np.empty((pools.pieces, pools.size), np.uint8)
        expected[to] = sent.reshape(expected.shape)[source]
        return difference(arrived, expected.reshape(-1))

    contenders = [
        Contender(each, lambda _, way=way: timed(partial(way, destinations, sources)), partial(check, way))  # type: ignore[misc]
        for each, way in ways.items()
    ]
    turns = finding.turns = take_turns(contenders, pools.seconds, pools.order)
    explain = partial(pools.session.explain_batch, destinations, sources)
    preparing = take_turns([Contender(PREPARING, lambda _: timed(explain), lambda: "")], 0, pools.order)
    ours, pair = turns.seconds(OURS), preparing.seconds(PREPARING)
    if ours is None or pair is None:
        finding.why_not = str({**turns.left_out, **preparing.left_out})
        return finding
    pair /= pools.pieces
    finding.figures = {"seconds a pair before it moves": pair}
    finding.said = {"method": explain().method}
    finding.best_peer = best_of(turns, rows.others, total)
    finding.measured = f"{shown(ours, total)}, {pair * 1e6:.2f} us a pair before it moves, by {explain().method}"
    reached = total / ours / 1e9 >= RATE and pair <= pair_seconds
    why = "" if pools.is_cuda else "device memory is host memory here, so that figures mean nothing"
    return decided(finding, reached, why)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write; 1 where a bar was missed."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--device", help="cuda:0 or host; the best one present by default")
    parser.add_argument("--pieces", type=int, default=16384)
    parser.add_argument("--bytes", type=parse_bytes, default=32 * KIB, help="of one piece")
    parser.add_argument(
        "--time", type=float, default=4.0, help="seconds for a case, in which its contenders take turns"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER")
    given = parser.parse_args(arguments)
    begin = time.monotonic()
    device = open_device(given.device, bind=True)
    pools = Pools(device, given.pieces, given.bytes, given.time, given.seed)
    command = shlex.join(["benchmarks/batches.py", *(sys.argv[1:] if arguments is None else arguments)])
    fingerprint = read_fingerprint(device)
    heading = [f"# Batches on {device.description.name}", "", f"`{command}`, Isthmus {fingerprint.isthmus_version}."]
    findings: list[Finding] = []
    kinds: list[tuple[str, Callable[[Pools], Rows], float]] = [
        ("torch", Pools.of_torch, PAIR_SECONDS),
        ("NumPy and DeviceArray", Pools.of_numpy, PAIR_SECONDS),
        ("NumPy and CuPy", Pools.of_cupy, PAIR_SECONDS_OF_CUPY),
    ]
    for name, make, most in kinds:
        for to_device in (True, False):
            case = partial(measure, make=make, name=name, to_device=to_device, pair_seconds=most)
            findings.append(measured(f"{name}, {'h2d' if to_device else 'd2h'}", bar(most), case, pools))
            print(line(findings[-1]), flush=True)
            if given.output:
                about = {"command": command, "fingerprint": msgspec.to_builtins(fingerprint)}
                write(given.output, "batches", heading, about, findings)
    print(f"{summary(findings)}, {time.monotonic() - begin:.0f} s")
    return 1 if any(finding.met is False for finding in findings) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except IsthmusError as error:
        print(f"batches: {error}", file=sys.stderr)
        sys.exit(exit_code(error))
