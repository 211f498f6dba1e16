"""What the programs share that their launches bound: passes, and the line with the seconds of the median one."""

import json
import statistics
import time
from collections.abc import Callable

import torch

PASSES = 5


def report(work: Callable[[], object]) -> None:
    """Do the work once, then in passes, each from an idle device to an idle device."""

    def once() -> float:
        torch.cuda.synchronize()
        begin = time.perf_counter()
        work()
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    once()
    print(json.dumps({"seconds": statistics.median(once() for _ in range(PASSES)), "copies": {}, "checksum": 0}))
