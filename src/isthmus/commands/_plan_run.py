"""The run that a plan rests on: a file, or what the cache holds of this machine, or a quick one measured now."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import typer

from isthmus.errors import UsageError
from isthmus.language import say
from isthmus.record import Device, Run, cached_run, read_run

__all__ = ["run_for"]


def run_for(path: Path | None, device: str | None, wanted: Sequence[str]) -> Run:
    """The run in a file, or that of a device of this machine.

    `wanted` are the experiments that the plan needs. Where nothing of the device was measured yet, a user at a terminal
    is asked whether to measure now, quickly. Raises UsageError where nobody can be asked, or who is asked says no.
    """
    if path is not None:
        if device is not None:
            raise UsageError("--run says what was measured and --device where to look for it; leave one of them out")
        return read_run(path)
    from isthmus.experiment.devices import choose_device
    from isthmus.experiment.machine import read_host

    chosen = choose_device(device)
    found = cached_run(read_host(), chosen)
    return found or _measured_now(chosen, wanted)


def _measured_now(device: Device, wanted: Sequence[str]) -> Run:
    from isthmus.commands.measure import measure_quickly
    from isthmus.experiment.measure import quick_seconds

    spec = device.spec
    command = f"isthmus measure {' '.join(wanted)} --quick --device {spec}"
    seconds = quick_seconds(wanted)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"no run of {spec} on this machine is kept yet; measure one first (about {seconds:.0f} s, or without "
            f"--quick a minute and more, and better): {command}"
        )
    if not typer.confirm(say("plan.offer", command=command, seconds=f"{seconds:.0f}"), default=True, err=True):
        raise UsageError(f"nothing to plan with; measure first, or name a run file with --run: {command}")
    with tempfile.TemporaryDirectory() as folder:
        return measure_quickly(wanted, spec, Path(folder) / "quick.json")
