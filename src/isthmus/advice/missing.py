"""What a trace lacks for a rule and how to record it, and whether its rates are of another machine."""

from collections.abc import Sequence

from isthmus.advice.records import interface_of_all
from isthmus.advice.scene import Scene
from isthmus.language import enumerated, say
from isthmus.record import Run
from isthmus.trace import UNKNOWN, Knowledge, Maker, Trace

_INTERFACES = {"cuda": "CUDA", "opencl": "OpenCL"}
# How to record what is missing where that is not `isthmus trace`; a maker that cannot record it has no entry.
_COMMANDS: dict[tuple[Knowledge, Maker], str] = {
    ("calls", "nsys"): "nsys profile --trace=cuda",
    ("kernels", "nsys"): "nsys profile --trace=cuda",
    ("migrations", "nsys"): "nsys profile --cuda-um-cpu-page-faults=true --cuda-um-gpu-page-faults=true",
    ("calls", "kineto"): "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
    ("kernels", "kineto"): "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
}


def missing_words(knowledge: Knowledge, trace: Trace) -> str:
    """What is missing in a trace, and the option of recording that gives it, where there is one."""
    if knowledge == "migrations" and interface_of_all([trace]) == "opencl":
        return say("advice.lacks_migrations_opencl")
    isthmus = "isthmus trace --contents" if knowledge == "contents" else "isthmus trace"
    command = _COMMANDS.get((knowledge, trace.maker), isthmus)
    return say("advice.lacks", what=say(f"trace_report.known_{knowledge}"), command=command)


def unknown_kinds_words(every: Sequence[Scene]) -> str:
    """That some copies do not tell the kind of the host's memory; empty where all do."""
    count = sum(int((scene.host_kind(scene.copies) == UNKNOWN).sum()) for scene in every)
    return say("advice.lacks_kinds", count=count) if count else ""


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
    traced, measured = interface_of_all(traces), device.backend
    if measured not in _INTERFACES or traced == measured:
        return ""
    names = {"traced": _INTERFACES[traced], "measured": _INTERFACES[measured]}
    return say("advice.other_interface", **names, command=f"isthmus measure all --device {traced}:0")


def are_alike(name: str, other: str) -> bool:
    """Whether one name holds the other: ``H200`` and ``NVIDIA H200`` are of one device."""
    one, two = name.casefold(), other.casefold()
    return bool(one and two) and (one in two or two in one)
