"""Time and memory that a command and its children take, by what the kernel says of them while they run."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Usage", "watched"]

_EVERY_SECONDS = 0.2


@dataclass(frozen=True)
class Usage:
    """`cpu_seconds` are those of all processes together; `peak_bytes` is the largest sum over them.

    Pages that several share count in parts.
    """

    code: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def watched(process: subprocess.Popen[bytes]) -> Usage:
    """Wait for a process, looking at it and all below it again and again."""
    began, before, peak = time.monotonic(), _cpu(), 0
    while (code := process.poll()) is None:
        peak = max(peak, sum(map(_bytes, _family(process.pid))))
        time.sleep(_EVERY_SECONDS)
    return Usage(code, time.monotonic() - began, _cpu() - before, peak)


def _cpu() -> float:
    """Of children that have ended."""
    taken = os.times()
    return taken.children_user + taken.children_system


def _family(parent: int) -> list[int]:
    found = [parent]
    for place in found:
        for children in Path(f"/proc/{place}/task").glob("*/children"):
            try:
                found += map(int, children.read_text().split())
            except OSError:
                continue  # It ended in the meantime.
    return found


def _bytes(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
