"""One line that says which device was measured, over which link, and by which driver."""

from isthmus.analysis.phrases import link_rate
from isthmus.language import say
from isthmus.record import Run, format_rate


def machine_strip(run: Run) -> str:
    """``NVIDIA H200 · cuda:0 · PCIe 5.0 x16 (63.0 GB/s) · driver 580.159.04 · NUMA node 0``."""
    device = run.fingerprint.device
    parts = [device.name] if device.spec == device.name else [device.name, device.spec]
    parts.append(_link(run))
    if not device.crosses_link:
        parts.append(say("strip.cpus", count=run.fingerprint.host.cpu.allowed))
    else:
        parts.append(say("strip.driver", version=device.driver_version) if device.driver_version else "")
        parts.append("" if device.numa_node is None else say("strip.node", node=device.numa_node))
    return " · ".join(filter(None, parts))


def _link(run: Run) -> str:
    device = run.fingerprint.device
    if not device.crosses_link:
        return say("strip.no_link")
    if device.link is None or device.link.in_use == (None, None):
        return say("strip.link_unknown")
    rate = link_rate(run)
    return f"{link_name(*device.link.in_use)}{f' ({format_rate(rate)})' if rate else ''}"


def link_name(generation: int | None, width: int | None) -> str:
    """``PCIe 5.0 x16``; what is not known is a question mark."""
    return f"PCIe {generation or '?'}.0 x{width or '?'}"
