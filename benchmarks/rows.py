"""Blocks of a KV cache swapped in and out by copy_rows, and by what serving engines call today.

python benchmarks/rows.py [--device cuda:0] [--layers 32] [--rows 512] [--bytes 32KiB,4KiB] [--time SECONDS] [-o FOLDER]

So many rows of each layer, drawn at random, between one tensor a layer on the device and one on the host: page-locked
and pageable. Beside it: torch's copy_ in a loop, index_select and copy_, copy_addresses, and one cudaMemcpyAsync a
block from C++, where a compiler finds the runtime that torch has loaded. Every contender is checked before it is timed.
Needs torch. -o writes rows.md and rows.json.gz. Exit code 1: a bar was missed or data was wrong.
"""

import argparse
import ctypes
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np
from finding import Finding, decided, measured, shown
from finding_table import line, summary, write
from transfer_bench import OURS, POISON, best_of
from transfer_turns import Contender, take_turns, timed

import isthmus
from isthmus.errors import IsthmusError, Unsupported, exit_code
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.machine.fingerprint import read_fingerprint
from isthmus.record import KIB, format_bytes, parse_bytes

# GB/s by bytes of a row from pinned memory, and from pageable memory, to the device and back.
PINNED = {32 * KIB: (48.0, 50.0), 4 * KIB: (46.0, 48.0)}
PAGEABLE = (40.0, 40.0)
WITHOUT_DEVICE = "device memory is host memory here, so that figures mean nothing"

Way = Callable[[], object]


def separate_copies(folder: Path) -> Any:
    """The library of separate_copies.cpp, whose runtime is the one that torch has loaded; None without a compiler."""
    compiler = shutil.which("g++") or shutil.which("c++")
    try:
        import torch  # noqa: F401 - which loads the runtime
    except ImportError:
        return None
    if compiler is None:
        return None
    built = folder / "libseparate_copies.so"
    source = Path(__file__).with_name("separate_copies.cpp")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", str(source), "-o", str(built)], check=True)
    maps = [row.split()[-1] for row in Path("/proc/self/maps").read_text().splitlines() if "libcudart" in row]
    if not maps:
        return None
    ctypes.CDLL(maps[0], ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(built))


class Case:
    """Layers on both sides, and the rows that are moved."""

    def __init__(self, device: OpenDevice, given: argparse.Namespace, size: int, pinned: bool, to_device: bool) -> None:
        try:
            import torch
        except ImportError as error:
            raise Unsupported(f"torch is not installed: {error}") from error
        self.torch = torch
        self.is_cuda = device.description.backend == "cuda"
        self.size, self.rows, self.layers, self.to_device = size, given.rows, given.layers, to_device
        place = torch.device("cuda", device.description.index) if self.is_cuda else torch.device("cpu")
        numbers = np.random.default_rng(given.seed)
        blocks = 2 * given.rows
        there = [torch.zeros((blocks, size), dtype=torch.uint8, device=place) for _ in range(given.layers)]
        here = [
            torch.zeros((blocks, size), dtype=torch.uint8, pin_memory=pinned and self.is_cuda)
            for _ in range(given.layers)
        ]
        self.to, self.source = (there, here) if to_device else (here, there)
        self.to_rows, self.source_rows = (
            numbers.permutation(blocks)[: self.rows],
            numbers.permutation(blocks)[: self.rows],
        )
        self.content = torch.from_numpy(numbers.integers(0, 256, (blocks, size), np.uint8))
        self.session = isthmus.Session(device.description.spec)

    def wait(self) -> None:
        """Until the device has done all."""
        if self.is_cuda:
            self.torch.cuda.synchronize()

    def ways(self, library: Any) -> dict[str, Way]:
        """Ours and the others."""
        torch = self.torch
        to_list, source_list = self.to_rows.tolist(), self.source_rows.tolist()
        to_index, source_index = (
            torch.from_numpy(rows).to(side[0].device)
            for rows, side in ((self.to_rows, self.to), (self.source_rows, self.source))
        )

        def loop() -> None:
            for to, source in zip(self.to, self.source, strict=True):
                for i, j in zip(to_list, source_list, strict=True):
                    to[i].copy_(source[j], non_blocking=True)
            self.wait()

        def select() -> None:
            for to, source in zip(self.to, self.source, strict=True):
                to.index_copy_(0, to_index, source.index_select(0, source_index).to(to.device))
            self.wait()

        addresses = [
            np.concatenate([layer.data_ptr() + rows * self.size for layer in side])
            for side, rows in ((self.to, self.to_rows), (self.source, self.source_rows))
        ]
        direction = "h2d" if self.to_device else "d2h"
        ways: dict[str, Way] = {
            OURS: lambda: self.session.copy_rows(self.to, self.to_rows, self.source, self.source_rows),
            "isthmus.copy_addresses": lambda: self.session.copy_addresses(
                addresses[0], addresses[1], self.size, direction=direction
            ),
            "torch, a loop of copy_": loop,
            "torch, index_select and copy_": select,
        }
        if library is not None and self.is_cuda:
            pointers = [
                (ctypes.c_void_p * self.layers)(*(x.data_ptr() for x in side)) for side in (self.to, self.source)
            ]
            lists = [ctypes.c_void_p(rows.ctypes.data) for rows in (self.to_rows, self.source_rows)]

            def separate() -> None:
                count, size = ctypes.c_size_t(self.rows), ctypes.c_size_t(self.size)
                code = library.copy_blocks(
                    ctypes.c_size_t(self.layers), *pointers, *lists, count, size, 1 if self.to_device else 2
                )
                if code != 0:
                    raise Unsupported(f"cudaMemcpyAsync fails with {code}")

            ways["cudaMemcpyAsync a block, from C++"] = separate
        return ways

    def check(self, way: Way) -> str:
        """What is wrong with what arrived."""
        for i, (to, source) in enumerate(zip(self.to, self.source, strict=True)):
            source.copy_(self.content.roll(i, 0))
            to.fill_(POISON)
        self.wait()
        way()
        for i, to in enumerate(self.to):
            wanted = self.torch.full_like(self.content, POISON)
            wanted[self.to_rows] = self.content.roll(i, 0)[self.source_rows]
            if not self.torch.equal(to.cpu(), wanted):
                return f"layer {i} is wrong"
        return ""


def measure(
    device: OpenDevice, given: argparse.Namespace, size: int, pinned: bool, to_device: bool, library: Any
) -> Finding:
    """One size, memory and direction."""
    case = Case(device, given, size, pinned, to_device)
    bars = PINNED.get(size) if pinned else PAGEABLE
    rate = bars[0 if to_device else 1] if bars else None
    total = case.layers * case.rows * size
    name = f"{case.layers} x {case.rows} x {format_bytes(size)}, {'pinned' if pinned else 'pageable'}, "
    name += "h2d" if to_device else "d2h"
    finding = Finding(name, f">= {rate:g} GB/s" if rate else "", bytes=total)
    ways = case.ways(library)
    contenders = [
        Contender(each, lambda _, way=way: timed(way), partial(case.check, way))  # type: ignore[misc]
        for each, way in ways.items()
    ]
    turns = finding.turns = take_turns(contenders, given.time, Random(given.seed))
    ours = turns.seconds(OURS)
    if ours is None:
        finding.why_not = str(turns.left_out or turns.wrong)
        return finding
    explained = case.session.explain_rows(case.to, case.to_rows, case.source, case.source_rows)
    finding.said = {"method": explained.method}
    finding.best_peer = best_of(turns, [each for each in ways if each != OURS], total)
    finding.measured = f"{shown(ours, total)}, by {explained.method}"
    reached = rate is None or total / ours / 1e9 >= rate
    return decided(finding, reached, "" if case.is_cuda else WITHOUT_DEVICE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write; 1 where a bar was missed."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--device", help="cuda:0 or host; the best one present by default")
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--rows", type=int, default=512, help="of each layer")
    parser.add_argument("--bytes", default="32KiB,4KiB", help="of one row, several with commas")
    parser.add_argument("--time", type=float, default=6.0, help="seconds for a case, in which contenders take turns")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER")
    given = parser.parse_args(arguments)
    begin = time.monotonic()
    device = open_device(given.device, bind=True)
    command = shlex.join(["benchmarks/rows.py", *(sys.argv[1:] if arguments is None else arguments)])
    fingerprint = read_fingerprint(device)
    heading = [f"# Rows on {device.description.name}", "", f"`{command}`, Isthmus {fingerprint.isthmus_version}."]
    about = {"command": command, "fingerprint": msgspec.to_builtins(fingerprint)}
    findings: list[Finding] = []
    with tempfile.TemporaryDirectory() as folder:
        library = separate_copies(Path(folder)) if device.description.backend == "cuda" else None
        for size in map(parse_bytes, given.bytes.split(",")):
            for pinned in (True, False):
                for to_device in (True, False):
                    case = partial(measure, given=given, size=size, pinned=pinned, to_device=to_device, library=library)
                    findings.append(measured(f"{format_bytes(size)}", "", case, device))
                    print(line(findings[-1]), flush=True)
                    if given.output:
                        write(given.output, "rows", heading, about, findings)
    print(f"{summary(findings)}, {time.monotonic() - begin:.0f} s")
    return 1 if any(finding.met is False for finding in findings) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except IsthmusError as error:
        print(f"rows: {error}", file=sys.stderr)
        sys.exit(exit_code(error))
