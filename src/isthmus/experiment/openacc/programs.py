"""Runs OpenACC programs on a device and takes the figures that they print into the record."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from isthmus import _native
from isthmus.errors import CallFailed
from isthmus.experiment.engine.doubles import doubles, initial_sum, initialise
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sweep import Samples, Timed
from isthmus.experiment.openacc.points import ITERATIONS, samples_a_visit, words_of
from isthmus.record import Case, Metric

_FELL_BACK = 3
_WRONG = 1
# Beyond what a program needs to start, at rates that no machine of use is slower than.
_START_SECONDS = 60.0
_SLOWEST_RATE = 100e6
_METRICS: Sequence[Metric] = ("in_seconds", "out_seconds", "compute_seconds", "pack_seconds", "copy_seconds")


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What a program prints: seconds of every pass, whether its results were right, what it ran on and was built by."""

    right: bool
    device: str
    compiler: str
    host_seconds: list[float] = []
    in_seconds: list[float] = []
    out_seconds: list[float] = []
    compute_seconds: list[float] = []
    pack_seconds: list[float] = []
    copy_seconds: list[float] = []
    unpack_seconds: list[float] = []
    sum: float | None = None
    expected: float | None = None

    @property
    def series(self) -> dict[Metric, list[float]]:
        """By metric; the time of a pass is that of its phases where the program gives no other.

        A phase of no time at all is none: managed memory has no copies of its own.
        """
        passes = zip(self.in_seconds, self.out_seconds, strict=True)
        series: dict[Metric, list[float]] = {
            "host_seconds": self.host_seconds or [into + out for into, out in passes],
            "unpack_seconds": self.unpack_seconds,
        }
        series |= {metric: getattr(self, metric) for metric in _METRICS}
        return {metric: samples for metric, samples in series.items() if any(samples)}


def device_environment(index: int, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment in which a program finds this device of the driver alone, and OpenACC no other's choice."""
    visible = [name.strip() for name in environment.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    kept = {name: value for name, value in environment.items() if not name.startswith("ACC_")}
    return kept | {"CUDA_VISIBLE_DEVICES": visible[index] if index < len(visible) else str(index)}


def limit_seconds(case: Case, repeats: int) -> float:
    """After how long a program must hang: far more than any machine needs."""
    passes = (repeats + 1) * (2 * ITERATIONS if case.rows else 2)
    return _START_SECONDS + passes * case.bytes / _SLOWEST_RATE


def run_program(program: Path, words: Sequence[str], environment: Mapping[str, str], limit: float) -> Figures:
    """The figures of one run. Raises CallFailed when it falls back to the host, crashes, hangs or prints no figures."""
    name = program.name
    try:
        ended = subprocess.run(
            [str(program), *words], env=dict(environment), capture_output=True, text=True, check=False, timeout=limit
        )
    except subprocess.TimeoutExpired as error:
        raise CallFailed(f"the OpenACC program {name} had not ended after {limit:.0f} s") from error
    except OSError as error:
        raise CallFailed(f"the OpenACC program {name} cannot be started: {error.strerror}") from error
    lines = ended.stdout.strip().splitlines()
    last = next(iter(ended.stderr.strip().splitlines()[-1:]), "it said nothing")
    if ended.returncode == _FELL_BACK:
        raise CallFailed(
            f"the OpenACC program {name} found no device to run on, and its figures would mean nothing: {last}"
        )
    if ended.returncode < 0:
        cause = signal.strsignal(-ended.returncode) or f"signal {-ended.returncode}"
        raise CallFailed(f"the OpenACC program {name} crashed ({cause}): {last}")
    if ended.returncode not in (0, _WRONG) or not lines:
        raise CallFailed(f"the OpenACC program {name} failed with exit code {ended.returncode}: {last}")
    try:
        figures = msgspec.json.decode(lines[-1], type=Figures)
        if not figures.series.get("host_seconds"):
            raise CallFailed(f"the OpenACC program {name} printed no times: {lines[-1]}")
    except (msgspec.MsgspecError, ValueError) as error:
        raise CallFailed(f"the OpenACC program {name} printed what are no figures: {error}") from error
    return figures


class TimedProgram(Timed):
    """One case of a program; every visit is a process of its own, which warms up and checks every pass by itself."""

    checks = "always"

    def __init__(self, case: Case, program: Path, environment: Mapping[str, str]) -> None:
        self._case, self._program, self._environment = case, program, environment
        self._figures: Figures | None = None

    def run(self, quota: Quota) -> Samples:
        """What the program prints, by metric. Raises CallFailed as `run_program` does."""
        repeats = samples_a_visit(self._case, quota)
        words = [*words_of(self._case), "--repeats", str(repeats)]
        limit = limit_seconds(self._case, repeats)
        self._figures = run_program(self._program, words, self._environment, limit)
        return self._figures.series

    def described(self, case: Case) -> Case:
        """With the compiler that built the program."""
        return msgspec.structs.replace(case, compiler=self._figures.compiler) if self._figures else case

    def verify(self) -> str:
        """What the program says of its results."""
        figures = self._figures
        if figures is None or figures.right:
            return ""
        sums = "" if figures.sum is None else f": its sum is {figures.sum:.0f}, expected {figures.expected or 0:.0f}"
        return f"wrong data: the program's results are not what the CPU computes{sums}"


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


class TimedArray(Timed):
    """One fraction of an array that the device adds to; every visit has an array of its own, as programs do."""

    checks = "always"

    def __init__(self, case: Case, array: NativeArray) -> None:
        self._case, self._array, self._wrong = case, array, ""
        self._touched = int((case.fraction or 0.0) * array.count)

    def warm_up(self, times: int) -> None:
        """Passes that are not timed."""
        for _ in range(times):
            self._array.pass_over(self._touched)

    def run(self, quota: Quota) -> Samples:
        """Seconds of both phases of each pass, and their sums."""
        phases: list[tuple[float, float]] = []
        for _ in range(samples_a_visit(self._case, quota)):
            into, out, total = self._array.pass_over(self._touched)
            phases.append((into, out))
            if total != self._array.expected and not self._wrong:
                self._wrong = f"wrong data: the sum is {total:.0f}, expected {self._array.expected:.0f}"
        return {
            "host_seconds": [into + out for into, out in phases],
            "in_seconds": [into for into, _ in phases],
            "out_seconds": [out for _, out in phases],
        }

    def verify(self) -> str:
        """What the sums say, one of which was taken of every pass."""
        return self._wrong
