"""What a rule is: what it needs, what it finds in one process, and the words for that."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from isthmus.advice.rates import Range, Rates, Seconds, saved
from isthmus.advice.records import Interface
from isthmus.advice.scene import Scene
from isthmus.document.finding import Level
from isthmus.trace import Integers, Knowledge


@dataclass(frozen=True)
class Draft:
    """What a rule finds in one process: records, and what each of them would save."""

    # Rows of this table of the trace.
    table: Literal["copies", "calls", "allocations"]
    rows: Integers
    # Seconds of each; the median, the low and the high end.
    gains: Range
    # That the change costs once.
    once: Range = field(default_factory=lambda: np.zeros(3))
    # Seconds that the change can gain at most; None for those in which copies are all that goes on.
    bound: float | None = None
    # What the words need to know of this process.
    facts: Mapping[str, Any] = field(default_factory=dict)
    # Seconds that each took; None for what its call or the device did, whichever is more.
    took: Seconds | None = None
    # Where that does not follow from the gain.
    level: Level | None = None
    # How many windows hold what this was extrapolated from; 0 where it was found in the whole time.
    windows: int = 0


@dataclass(frozen=True)
class Summary:
    """All that a rule finds, for its words: totals of all processes, and the facts of the one with the largest gain."""

    calls: int
    bytes: int
    facts: Mapping[str, Any]
    # Whose calls that process made its copies with, and through which library of Python.
    interface: Interface
    library: str = ""

    @property
    def named_as(self) -> str:
        """By whose names calls are called: a key of `isthmus.advice.code.CALLS`."""
        return "torch" if self.library == "torch" and self.interface == "cuda" else self.interface


@dataclass(frozen=True)
class Words:
    """The texts of a finding, and code that shows the change by library."""

    title: str
    cause: str
    change: str
    pricing: str = ""
    snippets: dict[str, str] = field(default_factory=dict)
    # The paragraph of `lines` that shows it in short, where there is one.
    lines: str = ""


@dataclass(frozen=True)
class Rule:
    """One kind of thing to change; `find` may raise `isthmus.plan.Unpriced`, for which the rule abstains."""

    name: str
    # What a trace has to know; of several in brackets one is enough, and the first is asked for.
    needs: tuple[tuple[Knowledge, ...], ...]
    find: Callable[[Scene, Rates], Draft | None]
    words: Callable[[Summary], Words]
    # Names of rules whose gains on the same records come on top: this one's price begins where theirs end.
    beyond: frozenset[str] = frozenset()
    # Whether gains follow from the trace's own times alone, so that they are the traced machine's whatever prices it.
    by_trace: bool = False
    # Whether gains are within the time of kernels, which wait for pages.
    in_kernels: bool = False
    # Where kernels were recorded in windows alone: whether it is found in the whole time without them, is extrapolated
    # from what the windows hold, or is not known.
    windows: Literal["whole", "each", "never"] = "whole"
    # Facts of a draft that grow with the time that it is found in.
    totals: frozenset[str] = frozenset()


def removed(scene: Scene, rates: Rates, rows: Integers, facts: Mapping[str, Any]) -> Draft | None:
    """None for no copies."""
    if not rows.size:
        return None
    cost = scene.cost(rows, rates)
    gains = saved(cost, np.zeros((rows.size, 3)), scene.exposed(rows))
    return Draft("copies", rows, gains, facts=facts)
