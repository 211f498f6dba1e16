"""Has the program isthmus-check measure CUDA devices, and makes runs of its answer.

A driver that hangs or dies then takes no Python with it.
"""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from isthmus.errors import CallFailed, IsthmusError
from isthmus.experiment.measure import begun_run
from isthmus.files import read_bounded
from isthmus.installing import OURS, installed_file
from isthmus.machine.fingerprint import fingerprint_of
from isthmus.record import Case, Device, End, Link, Placement, Run, Settings

_PROGRAM = "bin/isthmus-check"
# A driver has so long to count the devices, again to open all of them, and again for each that is measured.
_LIMIT_SECONDS = 30
# The program keeps that limit itself, and is given up after what so many devices that hang would take.
_MOST_DEVICES = 30
# Python looks for Ctrl-C that often.
_LOOK_SECONDS = 0.2


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What the program says of a device: native/check/run.hpp."""

    device: Device
    cases: list[Case]
    link: Link | None = None
    bound_node: int | None = None
    failure: str = ""
    is_absent: bool


def measure_by_program(
    words: Sequence[str], command: Sequence[str], *, quietly: bool
) -> Mapping[str, Run | IsthmusError] | None:
    """The runs of the devices that these words of the program choose, or why there is none; None without any device.

    Raises CallFailed, which says what to do, where the program is missing, dies or does not end.
    """
    started = time.monotonic()
    answers = _answers(["--run", "--limit", str(_LIMIT_SECONDS), *words], quietly=quietly)
    if all(each.is_absent for each in answers):
        return None
    seconds = round(time.monotonic() - started, 3)
    return {each.device.spec: _run_of(each, command, seconds) for each in answers}


def _run_of(answer: _Answer, command: Sequence[str], seconds: float) -> Run | IsthmusError:
    if answer.failure:
        return CallFailed(f"{answer.failure}; nvidia-smi, and the kernel's log (dmesg), may say more")
    run = begun_run(fingerprint_of(answer.device), Settings(command=list(command), mode="quick"))
    placement = Placement(bound_node=answer.bound_node)
    end = End(status="complete", seconds=seconds, placement=placement, link=answer.link)
    return msgspec.structs.replace(run, cases=answer.cases, end=end)


def _answers(words: Sequence[str], *, quietly: bool) -> list[_Answer]:
    try:
        path = installed_file(_PROGRAM)
        output, code = _output(path, words, quietly=quietly)
    except FileNotFoundError as error:
        raise CallFailed(str(error)) from error
    except OSError as error:
        raise CallFailed(f"{path} does not start: {error.strerror}; install it anew: {OURS}") from error
    if output is None:
        raise CallFailed(f"{path} did not end in {_LIMIT_SECONDS * _MOST_DEVICES} s; try {path} --style plain")
    try:
        answers = msgspec.json.decode(output, type=list[_Answer])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        how = f"ended by {signal.Signals(-code).name}" if code < 0 else f"exited with {code} and without a whole answer"
        raise CallFailed(f"{path} {how}; try {path} --style plain, or install it anew: {OURS}") from error
    if not answers:
        raise CallFailed(f"{path} named no device; install it anew: {OURS}")
    return answers


def _output(path: Path, words: Sequence[str], *, quietly: bool) -> tuple[bytes | None, int]:
    """What it prints, None where it does not end, and how it ended. It ends with this process and by Ctrl-C."""
    deadline, output = time.monotonic() + _LIMIT_SECONDS * _MOST_DEVICES, None
    with _started(path, words, subprocess.DEVNULL if quietly else None) as process:
        try:
            while output is None and time.monotonic() < deadline:
                with suppress(subprocess.TimeoutExpired):
                    output, _ = process.communicate(timeout=_LOOK_SECONDS)
        finally:
            process.kill()
    if process.returncode == -signal.SIGINT:  # A terminal sends it to both, to the program perhaps first.
        raise KeyboardInterrupt
    return output, process.returncode


def _started(path: Path, words: Sequence[str], errors: int | None) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen([path, *words], stdout=subprocess.PIPE, stderr=errors)
    except PermissionError:
        # Wheels are unpacked by programs, too, that lose which files can be executed: a copy in memory can.
        copy = os.memfd_create(path.name)
        try:
            os.write(copy, read_bounded(path))
            named = [f"/proc/self/fd/{copy}", *words]
            return subprocess.Popen(named, stdout=subprocess.PIPE, stderr=errors, pass_fds=[copy])
        finally:
            os.close(copy)
