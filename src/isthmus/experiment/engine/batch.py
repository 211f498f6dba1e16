"""What an experiment hands over to be measured: subjects that share their memory, batch by batch."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.rounds import Subject
from isthmus.machine.devices import OpenDevice
from isthmus.record import Case


class Prepared(NamedTuple):
    """Subjects that can be measured now, what has ended already, and where host memory lies.

    `ended` holds a group of cases for each subject that cannot be measured, with the reason, or needs no visits.
    `placement` gives for each kind the share of its pages on each NUMA node, ``unknown`` where the kernel cannot say.
    """

    subjects: Sequence[Subject]
    ended: Sequence[Sequence[Case]] = ()
    placement: Mapping[str, Mapping[str, float]] = {}


class Batch(NamedTuple):
    """Subjects to be measured interleaved, so many in number; `weight` is their share of the experiment's time.

    `prepare` allocates what they need, which lives as long as the subjects. It raises CallFailed when the device fails
    at more than the lack of memory.
    """

    subjects: int
    weight: float
    prepare: Callable[[], Prepared]


class Planned(NamedTuple):
    """An experiment on one device: the batches, one after the other, and the cases that this device cannot do."""

    batches: Sequence[Batch]
    skipped: Sequence[Case] = ()

    @property
    def total(self) -> int:
        """What will have ended at the end: subjects and skipped cases."""
        return len(self.skipped) + sum(batch.subjects for batch in self.batches)


class Planner(Protocol):
    """The module `cases` of one experiment."""

    @property
    def NAME(self) -> str:  # noqa: N802
        """As the command line knows it."""

    @property
    def MEMORY_KINDS(self) -> Sequence[str]:  # noqa: N802
        """What --memory can choose from; empty where there is nothing to choose."""

    @property
    def DIRECTIONS(self) -> Sequence[str]:  # noqa: N802
        """What --direction can choose from, likewise."""

    @property
    def EFFORTS(self) -> Mapping[ModeName, Effort]:  # noqa: N802
        """Sizes and time in each mode."""

    @property
    def plan(self) -> Callable[[OpenDevice, Options, int], Planned]:
        """Every case, given the bytes of host memory that the experiment may take."""
