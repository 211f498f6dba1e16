"""Rank 0 tells every rank, itself included, which step of the stencil comes next; the others follow to the end."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from isthmus.errors import IsthmusError
from isthmus.experiment.devices import OpenDevice
from isthmus.experiment.ranks import Ranks, RanksBroken
from isthmus.experiment.stencil_points import Point
from isthmus.experiment.stencil_rank import Checksum, Room, StencilRank, reference
from isthmus.record import Metric

__all__ = ["Phases", "Team", "end", "follow"]

T = TypeVar("T")
Phases = dict[Metric, float]
Step = Literal["room", "release", "prepare", "drop", "sample", "checksum", "stay", "end"]
_MODULUS = 1 << 64


class _Told(NamedTuple):
    step: Step
    arguments: tuple[Any, ...] = ()


class Team:
    """All ranks, as rank 0 sees them; every method is a step of all of them at once."""

    def __init__(self, device: OpenDevice) -> None:
        self._native = device.native
        self._ranks = device.ranks
        self._own = StencilRank(device, device.ranks)

    @property
    def count(self) -> int:
        """Of the ranks."""
        return self._ranks.count

    @property
    def local_count(self) -> int:
        """Of those on rank 0's host."""
        return self._ranks.local_count

    def rooms(self) -> list[Room]:
        """Where each rank computes."""
        return self._all("room", self._own.room)

    def release(self) -> None:
        """Every rank gives its memory back."""
        self._all("release", self._own.release)

    def reference(self, side: int) -> int:
        """The checksum of a single rank, computed by rank 0 alone while the others hold no memory."""
        self.release()
        return reference(self._native, side, lambda: self._ranks.tell(_Told("stay")))

    def prepare(self, points: Sequence[Point]) -> dict[Point, str]:
        """Allocate; the reasons of points that one of the ranks has no memory for."""
        answers = self._all("prepare", lambda: self._own.prepare(points), points)
        refused = {point: reason for answer in reversed(answers) for point, reason in answer.items()}
        dropped = list(refused)
        self._all("drop", lambda: self._own.drop(dropped), dropped)
        return refused

    def sample(self, point: Point, poisoned: bool) -> list[Phases]:
        """Seconds of each phase on each rank."""
        return self._all("sample", lambda: self._own.sample(point, poisoned), point, poisoned)

    def checksum(self, point: Point) -> Checksum:
        """Over all points of the square, and all halos, after the last sample."""
        parts = self._all("checksum", lambda: self._own.checksum(point), point)
        return Checksum(sum(each.points for each in parts) % _MODULUS, sum(each.halos for each in parts) % _MODULUS)

    def _all(self, step: Step, own: Callable[[], T], *arguments: object) -> list[T]:
        try:
            self._ranks.tell(_Told(step, arguments))
            answers = self._ranks.gather(own())
        except IsthmusError as error:
            if self.count == 1:
                raise
            # The others wait for this rank, in the middle of a step: there is no way on from here.
            raise RanksBroken(str(error)) from error
        assert answers is not None
        return answers


def follow(device: OpenDevice) -> int:
    """Take every step that rank 0 tells; gives the exit code that it ends with."""
    ranks = device.ranks
    own = StencilRank(device, ranks)
    while (told := ranks.listen()).step != "end":
        if told.step != "stay":
            ranks.gather(getattr(own, told.step)(*told.arguments))
    return int(told.arguments[0])


def end(ranks: Ranks, code: int) -> None:
    """Rank 0 lets the others end."""
    ranks.tell(_Told("end", (code,)))
