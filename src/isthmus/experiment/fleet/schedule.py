"""Whose turn it is: on every node one device after the other, then all at once. Knows no time, no MPI and no device."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

# Measure alone; get ready to measure together; begin together; end.
Word = Literal["alone", "together", "go", "end"]


class Order(NamedTuple):
    """What a rank is to do next."""

    rank: int
    word: Word


class Schedule:
    """All nodes of a fleet, which do not wait for one another; `nodes` gives the ranks on each in their turn."""

    def __init__(self, nodes: Mapping[int, Sequence[int]]) -> None:
        self._nodes = {rank: node for node in map(_Node, nodes.values()) for rank in node.present}

    def begin(self) -> list[Order]:
        """The first orders."""
        return [order for node in self._all() for order in node.advance()]

    def done(self, rank: int) -> list[Order]:
        """This rank has done what it was told: measured, or got ready."""
        return self._nodes[rank].done(rank)

    def out(self, rank: int) -> list[Order]:
        """This rank takes no part any more."""
        return self._nodes[rank].out(rank)

    def stage(self, rank: int) -> str:
        """What the rank's node is at: ``alone``, ``preparing``, ``together`` or ``over``."""
        return self._nodes[rank].stage

    @property
    def over(self) -> bool:
        """Whether no rank has anything left to do."""
        return all(node.stage == "over" for node in self._all())

    def _all(self) -> "list[_Node]":
        return list(dict.fromkeys(self._nodes.values()))


class _Node:
    """The ranks of one machine."""

    def __init__(self, ranks: Sequence[int]) -> None:
        self.present = list(ranks)
        self.stage: Literal["alone", "preparing", "together", "over"] = "alone"
        self._queue = list(ranks)
        self._busy: set[int] = set()

    def done(self, rank: int) -> list[Order]:
        self._busy.discard(rank)
        return self.advance()

    def out(self, rank: int) -> list[Order]:
        for ranks in (self.present, self._queue):
            if rank in ranks:
                ranks.remove(rank)
        return self.done(rank)

    def advance(self) -> list[Order]:
        """What comes next, once nobody is busy any more."""
        if self._busy or self.stage == "over":
            return []
        if self.stage == "alone" and self._queue:
            return self._tell([self._queue.pop(0)], "alone")
        if not self.present or self.stage == "together":
            self.stage = "over"
            return []
        if self.stage == "alone":
            self.stage = "preparing"
            return self._tell(self.present, "together")
        self.stage = "together"
        return self._tell(self.present, "go")

    def _tell(self, ranks: Sequence[int], word: Word) -> list[Order]:
        self._busy = set(ranks)
        return [Order(rank, word) for rank in ranks]
