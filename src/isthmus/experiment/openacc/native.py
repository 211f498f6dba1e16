"""The contiguous program's explicit way without OpenACC: the same array, moved by this package's own calls."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from isthmus import _native
from isthmus.experiment.engine.doubles import doubles, initial_sum, initialise
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Collected
from isthmus.experiment.openacc.points import Point, template

_DOUBLE = 8


class NativeArray:
    """An array of doubles in pageable memory, filled as the programs fill theirs, and its place on the device."""

    def __init__(self, device: _native.Device, size: int) -> None:
        """Allocate and fill. Raises the errors of `isthmus.errors` where there is no memory."""
        self.bytes = size
        self.count = size // _DOUBLE
        self.host = device.allocate("pageable", size)
        self.on_device = device.allocate("device", size)
        self.stream = _native.Stream(device)
        self.expected = initial_sum(self.count)
        self.host.begin_host_access()
        with ThreadPoolExecutor(1) as pool:
            initialise(doubles(self.host), pool, 1)
        self.host.end_host_access()
        # As the programs do: what comes first in a process, such as loading the kernel, is in no figure.
        self.pass_over(self.count // 16)

    def pass_over(self, touched: int) -> tuple[float, float, float]:
        """Copy in, add 1 to the leading elements, copy out, sum: seconds of both phases, and the sum."""
        begin = time.perf_counter()
        self.stream.copy(self.on_device, 0, self.host, 0, self.bytes)
        if touched:
            self.stream.add_doubles(self.on_device, 0, touched, _DOUBLE, 1.0)
        self.stream.synchronize()
        computed = time.perf_counter()
        self.stream.copy(self.host, 0, self.on_device, 0, self.bytes)
        self.stream.synchronize()
        self.host.begin_host_access()
        total = float(doubles(self.host).sum())
        self.host.end_host_access()
        self.expected += touched
        return computed - begin, time.perf_counter() - computed, total


class NativeSubject:
    """One fraction of an array that the device adds to; every visit has an array of its own, as programs do."""

    def __init__(self, point: Point, allocate: Callable[[int], NativeArray]) -> None:
        self.template = template(point)
        self._point = point
        self._allocate = allocate

    def visit(self, quota: Quota, collected: Collected) -> None:
        """Take samples; the sum is checked after every pass."""
        array = self._allocate(self._point.bytes)
        touched = int((self._point.fraction or 0.0) * array.count)
        for _ in range(quota.warmups):
            array.pass_over(touched)
        collected.begin()
        for _ in range(self._point.samples_a_visit(quota.least)):
            into, out, total = array.pass_over(touched)
            collected.samples.setdefault("host_seconds", []).append(into + out)
            collected.samples.setdefault("in_seconds", []).append(into)
            collected.samples.setdefault("out_seconds", []).append(out)
            if total != array.expected and not collected.wrong:
                collected.wrong = f"wrong data: the sum is {total:.0f}, expected {array.expected:.0f}"
        collected.verified = True
