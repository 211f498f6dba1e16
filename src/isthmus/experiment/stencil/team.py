"""Rank 0 tells every rank, itself included, which step of the stencil comes next; the others follow to the end."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from isthmus.errors import IsthmusError
from isthmus.experiment.mpi.ranks import Ranks, RanksBroken, ranks_here
from isthmus.experiment.stencil.points import Cut, HaloPoint
from isthmus.experiment.stencil.rank import Room, StencilRank
from isthmus.experiment.stencil.sums import WORD, Checksum
from isthmus.machine.devices import OpenDevice
from isthmus.record import Metric

Phases = dict[Metric, float]
Step = Literal["room", "release", "reference", "prepare", "drop", "sample", "checksum", "end"]


class _Instruction(NamedTuple):
    step: Step
    arguments: tuple[Any, ...] = ()


class Team:
    """All ranks, as rank 0 sees them; every method is a step of all of them at once."""

    def __init__(self, device: OpenDevice) -> None:
        self._ranks = ranks_here()
        self._own = StencilRank(device, self._ranks)

    @property
    def count(self) -> int:
        """How many ranks there are."""
        return self._ranks.count

    @property
    def local_count(self) -> int:
        """How many of them are on rank 0's host."""
        return self._ranks.local_count

    def rooms(self) -> list[Room]:
        """Where each rank computes."""
        return self._all("room")

    def release(self) -> None:
        """Every rank gives its memory back."""
        self._all("release")

    def reference(self, cut: Cut, most_bytes: int) -> int:
        """The sum of a field's points, computed without exchanges, in so much device memory of each rank."""
        self.release()
        parts: list[int] = self._all("reference", cut, most_bytes)
        return sum(parts) & WORD

    def prepare(self, points: Sequence[HaloPoint]) -> dict[HaloPoint, str]:
        """Allocate for points of one cut; the reasons of those that one of its ranks has no memory for."""
        answers = self._all("prepare", points)
        refused = {point: reason for answer in reversed(answers) for point, reason in answer.items()}
        self._all("drop", list(refused))
        return refused

    def sample(self, point: HaloPoint, poisoned: bool) -> list[Phases]:
        """Seconds of each phase on each rank."""
        return self._all("sample", point, poisoned)

    def checksum(self, point: HaloPoint) -> Checksum:
        """Over all points of the field, and all halos, after the last sample."""
        parts = self._all("checksum", point)
        return Checksum(sum(each.points for each in parts) & WORD, sum(each.halos for each in parts) & WORD)

    def _all(self, step: Step, *arguments: object) -> list[Any]:
        """A step of all ranks, this one among them."""
        try:
            self._ranks.tell(_Instruction(step, arguments))
            answers = self._ranks.gather(getattr(self._own, step)(*arguments))
        except IsthmusError as error:
            if self.count == 1:
                raise
            # The others wait for this rank, in the middle of a step: there is no way on from here.
            raise RanksBroken(str(error)) from error
        assert answers is not None
        return answers


def follow(device: OpenDevice) -> int:
    """Take every step that rank 0 tells; gives the exit code that it ends with."""
    ranks = ranks_here()
    own = StencilRank(device, ranks)
    while (instruction := ranks.listen()).step != "end":
        ranks.gather(getattr(own, instruction.step)(*instruction.arguments))
    return int(instruction.arguments[0])


def end(ranks: Ranks, code: int) -> None:
    """Rank 0 lets the others end."""
    ranks.tell(_Instruction("end", (code,)))
