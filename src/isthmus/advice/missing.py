"""What a trace lacks for a rule, and how to record it."""

from collections.abc import Sequence

from isthmus.advice.interfaces import interface_of_all
from isthmus.advice.scene import Scene
from isthmus.language import can_say, say
from isthmus.trace import UNKNOWN, Knowledge, Maker, Trace

_TOOLS: dict[Maker, str] = {"isthmus": "isthmus trace", "nsys": "nsys", "kineto": "torch profiler"}


def missing_words(knowledge: Knowledge, trace: Trace) -> str:
    """What is missing in a trace, and the option of recording that gives it, where there is one."""
    if knowledge == "migrations" and interface_of_all([trace]) == "opencl":
        return say("advice.lacks_migrations_opencl")
    maker = trace.maker
    key = f"advice.lacks_{knowledge}"
    option = f"advice.record_{knowledge}_{maker}"
    return say(key, tool=_TOOLS[maker], how=say(option if can_say(option) else f"advice.record_{knowledge}"))


def unknown_kinds_words(every: Sequence[Scene]) -> str:
    """That some copies do not tell the kind of the host's memory; empty where all do."""
    count = sum(int((scene.host_kind(scene.copies) == UNKNOWN).sum()) for scene in every)
    return say("advice.lacks_kinds", count=count) if count else ""
