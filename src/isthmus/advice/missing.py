"""What a trace lacks for a rule, and how to record it."""

from collections.abc import Sequence

from isthmus.advice.records import interface_of_all, other_vendor
from isthmus.advice.scene import Scene
from isthmus.language import say
from isthmus.trace import UNKNOWN, Knowledge, Maker, Trace, vendors

# How to record what is missing where that is not `isthmus trace`; a maker that cannot record it has no entry.
_COMMANDS: dict[tuple[Knowledge, Maker], str] = {
    ("calls", "nsys"): "nsys profile --trace=cuda",
    ("kernels", "nsys"): "nsys profile --trace=cuda",
    ("migrations", "nsys"): "nsys profile --cuda-um-cpu-page-faults=true --cuda-um-gpu-page-faults=true",
    ("calls", "rocprof"): vendors.ROCPROFV3,
    ("kernels", "rocprof"): vendors.ROCPROFV3,
    ("calls", "kineto"): "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
    ("kernels", "kineto"): "activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
}


def missing_words(knowledge: Knowledge, trace: Trace) -> str:
    """What is missing in a trace, and the option of recording that gives it, where there is one."""
    if knowledge == "migrations" and interface_of_all([trace]) == "opencl":
        return say("advice.lacks_migrations_opencl")
    vendor = other_vendor(trace)
    if vendor and (knowledge, trace.maker) not in _COMMANDS:
        return say("advice.lacks_vendor", what=say(f"trace_report.known_{knowledge}"), vendor=vendor)
    isthmus = "isthmus trace --contents" if knowledge == "contents" else "isthmus trace"
    command = _COMMANDS.get((knowledge, trace.maker), isthmus)
    return say("advice.lacks", what=say(f"trace_report.known_{knowledge}"), command=command)


def unknown_kinds_words(every: Sequence[Scene]) -> str:
    """That some copies do not tell the kind of the host's memory; empty where all do."""
    count = sum(int((scene.host_kind(scene.copies) == UNKNOWN).sum()) for scene in every)
    if not count:
        return ""
    vendors = [vendor for scene in every if (vendor := other_vendor(scene.trace))]
    if vendors:
        return say("advice.lacks_kinds_vendor", count=count, vendor=vendors[0])
    return say("advice.lacks_kinds", count=count)
