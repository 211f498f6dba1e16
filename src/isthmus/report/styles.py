"""A check as programs that watch nodes take it: a first line of 80 bytes, and exit codes of their own.

Nagios and Meta's GCM: 0 OK, 1 warning, 2 critical, 3 unknown. node-problem-detector: 0 OK, 1 a problem, 2 unknown, 80
bytes. NHC: a check dies with a line. Prometheus: a text file with the labels of NVIDIA's dcgm-exporter.
"""

import io
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from isthmus.analysis.machine import links_of
from isthmus.compare import Health
from isthmus.document.finding import Level, gravity
from isthmus.messages import plain
from isthmus.record import Device, Run
from isthmus.report import write
from isthmus.report.check import Checked, check_document
from isthmus.report.renderers.prometheus import head, labels_of

# What node-problem-detector keeps of an output.
_MOST_BYTES = 80
_LEVELS: Mapping[Level, int] = {"OK": 0, "note": 0, "ATTENTION": 1, "FAULT": 2, "none": 3}


class Style(NamedTuple):
    """Exit codes for the worst device's level, 0 for those that are not named; `unknown` where nothing was judged."""

    codes: Mapping[Level, int]
    unknown: int


STYLES: Mapping[str, Style] = {
    "plain": Style({"FAULT": 1}, 3),
    "nagios": Style({"FAULT": 2, "ATTENTION": 1}, 3),
    "npd": Style({"FAULT": 1}, 2),
    "nhc": Style({"FAULT": 1}, 1),
    # The level is in the file.
    "prometheus": Style({}, 0),
    "json": Style({"FAULT": 1}, 3),
}


def styled(checked: Sequence[Checked], failures: Sequence[str], style: str, *, strict: bool) -> tuple[str, int]:
    """What to print, without a newline at its end, and the exit code; `failures` are devices that were not checked."""
    ordered = sorted(checked, key=lambda each: gravity(each[1].level))
    level: Level = ordered[0][1].level if ordered else "none"
    codes = STYLES[style]
    code = codes.codes.get(level, 0)
    if strict and level == "ATTENTION":
        code = codes.codes.get("FAULT", 0)
    if not code and (level == "none" or failures):
        code = codes.unknown
    lines = [_line(run, health) for run, health, _ in ordered]
    unknown = [_cut(f"UNKNOWN {_reason(failure)} - {socket.gethostname()}") for failure in failures]
    # A fault is worse than a device that could not be asked; that is worse than one that is well.
    lines = [*lines, *unknown] if level in ("FAULT", "ATTENTION") else [*unknown, *lines]
    if style == "prometheus":
        lines = list(_gauges(checked, failures))
    elif style == "json":
        out = io.StringIO()
        write(check_document(checked), "json", out)
        lines = [out.getvalue().rstrip()]
    elif style == "nagios":
        lines[:1] = [" | ".join(filter(None, (lines[0], " ".join(_performance(ordered)))))]
    elif style != "plain":
        lines = lines[:1]
    return "\n".join(lines), code


def _line(run: Run, health: Health) -> str:
    """Level, reason, device and host, cut from the end."""
    mark = "UNKNOWN" if health.level == "none" else health.mark
    device = run.fingerprint.device
    return _cut(f"{mark} {_reason(health.points[0].text)} {device.spec} {_host(run)}")


def _reason(text: str) -> str:
    """The first clause, so that device and host are within what is kept of a line."""
    return re.split(r"[;:,.] |[；：，。、]", plain(text), maxsplit=1)[0].rstrip(".")


def _cut(text: str) -> str:
    return text.encode()[:_MOST_BYTES].decode(errors="ignore")


def _host(run: Run) -> str:
    return run.fingerprint.host.name or socket.gethostname()


def _performance(checked: Sequence[Checked]) -> Iterator[str]:
    """Rates as Nagios' performance data: a warning and a critical threshold below which they are."""
    for run, health, _ in checked:
        for rate in health.rates:
            name = f"{run.fingerprint.device.spec}_{rate.memory}_{rate.direction}"
            low = rate.normals[0].low if rate.normals else 0.0
            limits = f";{low:.0f}:;{health.faulty_ratio * low:.0f}:" if low else ""
            yield f"'{name}'={rate.rate:.0f}B{limits}"


def _gauges(checked: Sequence[Checked], failures: Sequence[str]) -> Iterator[str]:
    yield from head("isthmus_check_failures", "Devices that could not be checked.")
    yield f"isthmus_check_failures{{{labels_of(Hostname=socket.gethostname())}}} {len(failures)}"
    yield from head("isthmus_check_level", "0 OK, 1 ATTENTION, 2 FAULT, 3 nothing to judge.")
    for run, health, _ in checked:
        yield f"isthmus_check_level{{{_device(run)}}} {_LEVELS[health.level]}"
    yield from head("isthmus_check_bytes_per_second", "Rate of large copies; of both directions the sum.")
    for run, health, _ in checked:
        for rate in health.rates:
            labels = labels_of(memory=rate.memory, direction=rate.direction)
            yield f"isthmus_check_bytes_per_second{{{_device(run)},{labels}}} {rate.rate:.6g}"
    yield from head("isthmus_check_normal_bytes_per_second", "The least that is normal.")
    for run, health, _ in checked:
        for rate in (each for each in health.rates if each.normals):
            labels = labels_of(memory=rate.memory, direction=rate.direction)
            yield f"isthmus_check_normal_bytes_per_second{{{_device(run)},{labels}}} {rate.normals[0].low:.6g}"
    yield from head("isthmus_check_link_replays", "Packets that were sent again since the driver was loaded.")
    for run, _, _ in checked:
        if counted := [link.replays for link in links_of(run) if link.replays is not None]:
            yield f"isthmus_check_link_replays{{{_device(run)}}} {counted[-1]}"


def _device(run: Run) -> str:
    device = run.fingerprint.device
    return labels_of(
        gpu=device.index, UUID=device.uuid, device=_node(device), modelName=device.name, Hostname=_host(run)
    )


def _node(device: Device) -> str:
    return f"nvidia{device.index}" if device.backend == "cuda" else device.spec
