"""Whether a run is of another machine or interface than a trace, as far as names of devices and functions tell."""

from collections.abc import Sequence

from isthmus.advice.interfaces import interface_of_all
from isthmus.language import enumerated, say
from isthmus.record import Run
from isthmus.trace import Trace

__all__ = ["elsewhere_words"]

_INTERFACES = {"cuda": "CUDA", "opencl": "OpenCL"}


def elsewhere_words(traces: Sequence[Trace], run: Run) -> str:
    """That the traces' devices or interface are others than the run's; empty where they are not, or have no names."""
    names = {name for trace in traces for name in trace.devices.values() if name}
    ours = run.fingerprint.device.name
    if not names or any(_alike(name, ours) for name in names):
        traced, measured = interface_of_all(traces), run.fingerprint.device.backend
        if measured not in _INTERFACES or traced == measured:
            return ""
        names_of = {"traced": _INTERFACES[traced], "measured": _INTERFACES[measured]}
        return say("advice.other_interface", **names_of, command=f"isthmus measure all --device {traced}:0")
    return say("advice.elsewhere", traced=enumerated(sorted(names)), measured=ours)


def _alike(name: str, other: str) -> bool:
    """Whether one name holds the other: ``H200`` and ``NVIDIA H200`` are of one device."""
    one, two = name.casefold(), other.casefold()
    return bool(one and two) and (one in two or two in one)
