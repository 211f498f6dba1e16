"""What a trace lacks for a rule, and how to record it."""

from isthmus.language import can_say, say
from isthmus.trace import Knowledge, Maker

__all__ = ["missing_words"]

_TOOLS: dict[Maker, str] = {"isthmus": "isthmus trace", "nsys": "nsys", "kineto": "torch profiler"}


def missing_words(knowledge: Knowledge, maker: Maker) -> str:
    """What is missing in a trace of this maker, and the option of recording that gives it."""
    key = f"advice.lacks_{knowledge}"
    option = f"advice.record_{knowledge}_{maker}"
    return say(key, tool=_TOOLS[maker], how=say(option if can_say(option) else f"advice.record_{knowledge}"))
