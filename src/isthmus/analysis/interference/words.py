"""How methods of copying and what they cost are named."""

from isthmus.analysis.interference.model import Cost
from isthmus.analysis.phrases import memory_name, percent_words
from isthmus.language import say
from isthmus.record import format_rate


def way_words(cost: Cost) -> str:
    """``a kernel of 2 blocks``, ``the driver's copy of pinned memory``, ``isthmus.copy with 12 threads``."""
    if cost.method == "kernel":
        return say("interference.kernel", count=cost.blocks) if cost.blocks else say("interference.kernel_all")
    if cost.method == "isthmus":
        return say("interference.isthmus", count=cost.threads or 1)
    return say("interference.copy", memory=memory_name(cost.memory))


def cost_words(cost: Cost) -> str:
    """``a kernel of 2 blocks 10 % at 49.6 GB/s``."""
    percent, rate = percent_words(cost.slowdown.median), format_rate(cost.rate.median)
    return say("interference.cost", method=way_words(cost), percent=percent, rate=rate)
