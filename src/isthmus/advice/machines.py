"""Whether the rates that price a trace are of the machine that was traced, as far as one can tell."""

from collections.abc import Sequence

from isthmus.advice.records import interface_of_all
from isthmus.language import enumerated, say
from isthmus.record import Run
from isthmus.trace import Trace

_INTERFACES = {"cuda": "CUDA", "opencl": "OpenCL"}


def names_devices(trace: Trace) -> bool:
    """Whether a trace tells what its devices are."""
    return any(trace.devices.values())


def other_devices(traces: Sequence[Trace], run: Run) -> list[str]:
    """The names of the traces' devices where none is the run's; none where one is, or where they have no names."""
    names = {name for trace in traces for name in trace.devices.values() if name}
    ours = run.fingerprint.device.name
    return [] if any(are_alike(name, ours) for name in names) else sorted(names)


def elsewhere_words(traces: Sequence[Trace], run: Run) -> str:
    """That the traces' devices or interface are others than the run's; empty where they are not, or not known."""
    device = run.fingerprint.device
    if others := other_devices(traces, run):
        return say("advice.elsewhere", traced=enumerated(others), measured=device.name)
    if any(len(trace.copies) and not names_devices(trace) for trace in traces):
        return say("advice.nameless", measured=device.name)
    traced, measured = interface_of_all(traces), device.backend
    if measured not in _INTERFACES or traced == measured:
        return ""
    names = {"traced": _INTERFACES[traced], "measured": _INTERFACES[measured]}
    return say("advice.other_interface", **names, command=f"isthmus measure all --device {traced}:0")


def are_alike(name: str, other: str) -> bool:
    """Whether one name holds the other: ``H200`` and ``NVIDIA H200`` are of one device."""
    one, two = name.casefold(), other.casefold()
    return bool(one and two) and (one in two or two in one)
