"""Weights from the page cache to a GPU: isthmus.torch.load_file beside safetensors and a copy from the mapping.

weights.py [GIGABYTES] [--seconds 30] [--folder FOLDER]: makes a file of bf16 tensors there, reads it once, and removes
it at the end. The first call is timed in processes of its own. `--stores` and `--threads` try what a table would say.
"""

import argparse
import json
import mmap
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_turns import GB, Way, in_turns, need_gpu, shares, table

import isthmus
from isthmus.record import median_interval
from isthmus.torch import load_file

OURS, LIBRARY, MAPPING = "isthmus.torch.load_file", "safetensors.torch.load_file", "isthmus.copy from the mapping"
TENSOR_BYTES = 64 << 20
FIRST_CALLS = 7


def make(path: Path, size: int) -> None:
    """A file of bf16 tensors, each with bytes of its own."""
    count = max(1, size // TENSOR_BYTES)
    shape = [TENSOR_BYTES // 2 // 4096, 4096]
    header = {
        f"layer.{number:04}.weight": {
            "dtype": "BF16",
            "shape": shape,
            "data_offsets": [number * TENSOR_BYTES, (number + 1) * TENSOR_BYTES],
        }
        for number in range(count)
    }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    block = np.random.default_rng(3).integers(0, 1 << 15, TENSOR_BYTES // 2, np.uint16)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for number in range(count):
            block[:8] = number
            file.write(block.tobytes())


def read_once(path: Path) -> None:
    """Bring the file into the page cache."""
    with path.open("rb") as file:
        while file.read(1 << 26):
            pass


def from_mapping(path: Path) -> torch.Tensor:
    """All tensors' bytes by `isthmus.copy` from a mapping of the file."""
    with path.open("rb") as file:
        mapped: Any = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    begin = 8 + int.from_bytes(mapped[:8].tobytes(), "little")
    there = torch.empty(mapped.size - begin, dtype=torch.uint8, device="cuda")
    isthmus.copy(there, mapped[begin:])
    return there


def tensors_in(there: torch.Tensor) -> dict[str, torch.Tensor]:
    """The tensors of the file in a block of all."""
    return {f"{number:04}": one for number, one in enumerate(there.split(TENSOR_BYTES))}


def library(path: Path) -> Any:
    """What users call today."""
    from safetensors.torch import load_file as load

    return load(path, device="cuda")


def wrong_in(loaded: dict[str, torch.Tensor], path: Path) -> str:
    """What differs from the file, every byte of it."""
    at = 8 + int.from_bytes(path.open("rb").read(8), "little")
    content = np.memmap(path, np.uint8, mode="r", offset=at)
    for number, name in enumerate(sorted(loaded)):
        expected = content[number * TENSOR_BYTES : (number + 1) * TENSOR_BYTES]
        if not np.array_equal(loaded[name].cpu().view(torch.uint8).numpy().reshape(-1), expected):
            return f"{name} differs"
    return ""


def session_with(stores: str | None, threads: int | None) -> isthmus.Session | None:
    """One whose table stores and packs so in every large copy to the device; None for the default one."""
    if stores is None and threads is None:
        return None
    text = isthmus.default_session("cuda:0").table
    lines = []
    for line in text.splitlines():
        if "buffer direction=h2d" in line and "staged" in line:
            line = re.sub(r"stores=\w+", f"stores={stores}", line) if stores else line  # noqa: PLW2901
            line = re.sub(r"threads=\d+", f"threads={threads}", line) if threads else line  # noqa: PLW2901
        lines.append(line)
    with tempfile.NamedTemporaryFile("w", suffix=".table") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        return isthmus.Session("cuda:0", table=file.name)


def first_call(path: Path, name: str) -> float:
    """Seconds of the first call in a process of its own, whose CUDA context exists."""
    program = (
        "import sys, time, torch, weights\nfrom pathlib import Path\n"
        "torch.zeros(1, device='cuda'); torch.cuda.synchronize()\n"
        f"call = {{{OURS!r}: weights.load_file, {LIBRARY!r}: weights.library, {MAPPING!r}: weights.from_mapping}}\n"
        f"call = call[{name!r}]\n"
        "begin = time.perf_counter(); kept = call(Path(sys.argv[1])); torch.cuda.synchronize()\n"
        "print(time.perf_counter() - begin)\n"
    )
    command = [sys.executable, "-c", program, str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
    return float(ran.stdout.split()[-1])


def main() -> int:
    """Make the file, let the ways take turns, and print what each took; 1 where one was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gigabytes", nargs="?", type=float, default=8.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--stores", choices=["ordinary", "streaming", "demoted"])
    parser.add_argument("--threads", type=int)
    asked = parser.parse_args()
    need_gpu()
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        path = Path(folder) / "model.safetensors"
        make(path, int(asked.gigabytes * GB))
        read_once(path)
        size = path.stat().st_size
        session = session_with(asked.stores, asked.threads)
        ways = [
            Way(OURS, lambda: load_file(path, "cuda", session=session), lambda: wrong_in(load_file(path), path)),
            Way(LIBRARY, lambda: library(path), lambda: wrong_in(library(path), path)),
            Way(MAPPING, lambda: from_mapping(path), lambda: wrong_in(tensors_in(from_mapping(path)), path)),
        ]
        turns = in_turns(ways, asked.seconds)
        right = table(f"{size / GB:.2f} GB, page cache -> device", turns, {OURS: ">= 45 GB/s"}, size)
        shares(turns, OURS, [LIBRARY, MAPPING])
        print(f"\nthe first call of a process, {FIRST_CALLS} processes each; bar: {OURS} >= 30 GB/s")
        for name in (OURS, MAPPING, LIBRARY):
            time.sleep(1)
            found = median_interval([first_call(path, name) for _ in range(FIRST_CALLS)])
            print(f"{name:44} {found.median * 1e3:10.2f} ms {size / found.median / GB:7.2f} GB/s")
    return int(not right)


if __name__ == "__main__":
    sys.exit(main())
