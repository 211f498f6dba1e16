"""What the first allocation of each kind costs in a process that has made none, and what opening the device costs.

Measured in a process of its own, since a driver does much of its work once a process: at the first call of a kind.
"""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from isthmus import _native
from isthmus.errors import CallFailed, IsthmusError
from isthmus.experiment.engine.sampling import reason_of
from isthmus.machine.devices import OpenDevice, open_native
from isthmus.python import python_command, python_environment
from isthmus.record import MIB

FIRST_BYTES = MIB
_LIMIT_SECONDS = 60

# By kind, seconds of each phase, or why there are none.
FirstCalls = dict[str, dict[str, float] | str]


def measure_first_calls(device: OpenDevice, kinds: Sequence[str]) -> tuple[float, FirstCalls]:
    """Seconds to open the device in a new process, and of the first calls of each kind, in the order given.

    Raises CallFailed when that process fails, with what it said.
    """
    described = device.description
    order = json.dumps([described.backend, described.index, device.model, list(kinds)])
    command = python_command(__name__, order)
    try:
        # Without what drivers have set in this process meanwhile, seen to hide NVIDIA's OpenCL from its children.
        environment = python_environment()
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=_LIMIT_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise CallFailed(f"a new process did not end its first calls within {_LIMIT_SECONDS} s") from error
    if ended.returncode != 0:
        last = ended.stderr.strip().splitlines()[-1:] or [f"exit code {ended.returncode}"]
        raise CallFailed(f"a new process that makes the first calls failed: {last[0]}")
    seconds, calls = json.loads(ended.stdout)
    return seconds, calls


def _measure(backend: str, index: int, model: str, kinds: Sequence[str]) -> tuple[float, FirstCalls]:
    begin = time.perf_counter()
    device = open_native(backend, index, model)
    seconds = time.perf_counter() - begin
    calls: FirstCalls = {}
    for kind in kinds:
        try:
            samples: Any = _native.create_allocation(device, kind, FIRST_BYTES).run(0, 1, 1, 0.0)
            calls[kind] = {phase: times[0] for phase, times in samples.items() if times}
        except IsthmusError as error:
            calls[kind] = reason_of(error)
    return seconds, calls


if __name__ == "__main__":
    print(json.dumps(_measure(*json.loads(sys.argv[1]))))
