"""What an experiment hands over to be measured: subjects that share their memory, batch by batch."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, get_args

from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.rounds import Subject
from isthmus.machine.devices import OpenDevice
from isthmus.record import Case
from isthmus.registry import Experiment, load


class Prepared(NamedTuple):
    """Subjects that can be measured now, what has ended already, and where host memory lies.

    `ended` holds a group of cases for each subject that cannot be measured, with the reason, or needs no visits.
    `placement` gives for each kind the share of its pages on each NUMA node, ``unknown`` where the kernel cannot say.
    """

    subjects: Sequence[Subject]
    ended: Sequence[Sequence[Case]] = ()
    placement: Mapping[str, Mapping[str, float]] = {}


class Batch(NamedTuple):
    """Subjects of these cases, to be measured interleaved; `weight` is their share of the experiment's time.

    `prepare` allocates what they need, which lives as long as the subjects. It raises CallFailed when the device fails
    at more than the lack of memory.
    """

    cases: Sequence[Case]
    weight: float
    prepare: Callable[[], Prepared]


class Planned(NamedTuple):
    """An experiment on one device: the batches, one after the other, and the cases that this device cannot do."""

    batches: Sequence[Batch]
    skipped: Sequence[Case] = ()


class Planner(NamedTuple):
    """One experiment: the surface of its module `cases`.

    `memory_kinds` and `directions` are what --memory and --direction can choose from; `plan` gives every case, for the
    bytes of host memory that the experiment may take. `is_brief` where it measures only what a sentence needs.
    """

    name: str
    efforts: Mapping[ModeName, Effort]
    plan: Callable[[OpenDevice, Options, int], Planned]
    memory_kinds: Sequence[str] = ()
    directions: Sequence[str] = ()
    is_brief: bool = False


def planner(experiment: Experiment) -> Planner:
    """What plans the cases of an experiment; raises RegistryError where it is registered by half."""
    cases = load(experiment.cases, ("EFFORTS", "plan"))
    kinds, directions = getattr(cases, "MEMORY_KINDS", ()), getattr(cases, "DIRECTIONS", ())
    return Planner(experiment.name, cases.EFFORTS, cases.plan, kinds, directions)


def brief_planner(experiment: Experiment) -> Planner:
    """The same for the few cases that a sentence of the first screen needs, in every mode."""
    cases = load(experiment.cases, ("BRIEF", "plan_briefly"))
    return Planner(experiment.name, dict.fromkeys(get_args(ModeName), cases.BRIEF), cases.plan_briefly, is_brief=True)
