"""Plans an experiment from its cases and visits them, so that an experiment says only what is its own.

An experiment gives cases, says which of them a device cannot do, which are measured together, and what times each. Here
alone cases are skipped, batched, prepared, poisoned, timed and verified, and what went wrong is recorded.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

from isthmus import _native
from isthmus.errors import IsthmusError, OutOfMemory, Unsupported
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import over_budget
from isthmus.experiment.engine.buffers import page_shares
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.rounds import Quota, Subject
from isthmus.experiment.engine.sampling import Collected, Companion, least_seconds, reason_of, skipped_case
from isthmus.grouping import grouped
from isthmus.machine.devices import OpenDevice
from isthmus.record import MIB, Case, Metric
from isthmus.registry import EXPERIMENTS, load

Samples: TypeAlias = Mapping[Metric, Sequence[float]]
Checks: TypeAlias = Literal["never", "first", "always"]
_ALWAYS_CHECKED_BYTES = 16 * MIB


def checks_of(size: int, most: int = _ALWAYS_CHECKED_BYTES) -> Checks:
    """When to check so many bytes: checking takes as long as moving them, so that large ones are checked once."""
    return "always" if size <= most else "first"


class Timed(ABC):
    """What one case does in a sample; an experiment overrides what its cases need.

    `checks` says in which visits the data is poisoned and verified: in all, in the first or in none.
    """

    checks: Checks = "first"

    def poison(self) -> None:
        """Overwrite where data will arrive, so that stale data cannot pass for it."""
        return

    def warm_up(self, _times: int) -> None:
        """Run untimed, where `run` does not by itself; before devices that are measured in step begin together."""
        return

    @abstractmethod
    def run(self, quota: Quota) -> Samples:
        """Seconds by metric, from as many samples as the quota asks for. Raises the errors of `isthmus.errors`."""

    def companions(self) -> Iterable[Companion]:
        """Cases that the last `run` measured besides."""
        return ()

    def described(self, case: Case) -> Case:
        """The case with what only a run can know of it, such as the compiler of a program."""
        return case

    def verify(self) -> str:
        """What is wrong with the data that arrived last, as the record says it; empty where it is right."""
        return ""


# Gives what times a case, once for each visit; a cached one keeps it for all of them.
Start: TypeAlias = Callable[[], Timed]


class Bench(NamedTuple):
    """What the cases of one batch are measured with; its functions hold their buffers, streams and open devices.

    `start` gives what times a case, or why nothing can: what it raises of `isthmus.errors` is a reason, too. By
    `host_buffers` the record says on which NUMA nodes host memory is. `named` gives a case as it is recorded, with what
    is known now that devices are open.
    """

    start: Callable[[Case], Start | str]
    host_buffers: Callable[[], Iterable[_native.Buffer]] = tuple
    named: Callable[[Case], Case] = lambda case: case


class Sweep(ABC):
    """Cases of one experiment on one device, for the bytes of host memory that it may take.

    `by_bytes` says that what a case moves tells how long it takes.
    """

    by_bytes = False

    def __init__(self, device: OpenDevice, options: Options, memory_bytes: int) -> None:
        self.device, self.options, self.memory_bytes = device, options, memory_bytes
        self.native, self.seed = device.native, options.seed
        self.shares_host_memory = device.description.shares_host_memory

    @classmethod
    def plan(cls, device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
        """All batches, and the cases that are skipped."""
        return planned(cls(device, options, memory_bytes))

    @abstractmethod
    def cases(self) -> Iterable[Case]:
        """Every case of the chosen mode and options, without results, in the order of the record."""

    def why_not(self, _case: Case) -> str | None:
        """Why the device cannot do a case, or the run has no memory for it."""
        return None

    def shares(self, _case: Case) -> Hashable:
        """A key: cases of the same key share their memory and are measured interleaved, key after key."""
        return None

    def groups(self, cases: Sequence[Case]) -> Sequence[Sequence[Case]]:
        """The batches; cases that are in none of them exceed the run's memory."""
        return list(grouped(cases, self.shares).values())

    def weight(self, cases: Sequence[Case]) -> float:
        """A batch's share of the experiment's time, relative to those of its other batches."""
        return sum(least_seconds(case.bytes) for case in cases) if self.by_bytes else float(len(cases))

    def size(self, case: Case) -> int:
        """Bytes that a case needs: where memory lacks for all, the largest ones go first."""
        return case.bytes

    @abstractmethod
    def prepare(self, cases: Sequence[Case]) -> Bench:
        """Allocate and fill what a batch needs. Raises the errors of `isthmus.errors`."""

    def sizes(self, efforts: Mapping[ModeName, Effort], shared: Sequence[int] = ()) -> Sequence[int]:
        """Bytes: the user's or the mode's, or `shared` where device memory is host memory and the processor copies."""
        if shared and self.shares_host_memory and not self.options.sizes:
            return shared
        return self.options.effort(efforts).sizes


def sweep_of(experiment: str, device: OpenDevice, seed: int) -> Sweep:
    """The sweep of an experiment, by whose `prepare` plans for users time single cases."""
    (entry,) = (each for each in EXPERIMENTS if each.name == experiment)
    sweep: Sweep = load(entry.cases, ("SWEEP",)).SWEEP(device, Options(seed=seed), 0)
    return sweep


def planned(*sweeps: Sweep) -> Planned:
    """The batches of all sweeps, one sweep after the other, and the cases that are skipped, each with its reason."""
    batches: list[Batch] = []
    skipped: list[Case] = []
    for sweep in sweeps:
        possible = []
        for case in sweep.cases():
            if why := sweep.why_not(case):
                skipped.append(skipped_case(case, why))
            else:
                possible.append(case)
        groups = sweep.groups(possible)
        fitting = {id(case) for group in groups for case in group}
        why = over_budget(sweep.memory_bytes)
        skipped += [skipped_case(case, why) for case in possible if id(case) not in fitting]
        batches += [Batch(group, sweep.weight(group), partial(_prepared, sweep, group)) for group in groups]
    return Planned(batches, skipped)


def _prepared(sweep: Sweep, cases: Sequence[Case]) -> Prepared:
    """Subjects for the cases of a batch; those that cannot be measured have ended with the reason."""
    ended: list[Case] = []
    bench = None
    while cases and bench is None:
        try:
            bench = sweep.prepare(cases)
        except IsthmusError as error:
            most = max(map(sweep.size, cases))
            smaller = [case for case in cases if sweep.size(case) < most]
            remaining = smaller if isinstance(error, (OutOfMemory, Unsupported)) else []
            kept = set(map(id, remaining))
            ended += [skipped_case(case, reason_of(error)) for case in cases if id(case) not in kept]
            cases = remaining
    if bench is None:
        return Prepared([], [[case] for case in ended])
    subjects: list[Subject] = []
    for case in map(bench.named, cases):
        try:
            start = bench.start(case)
        except IsthmusError as error:
            start = reason_of(error)
        if isinstance(start, str):
            ended.append(skipped_case(case, start))
        else:
            subjects.append(TimedSubject(case, start))
    return Prepared(subjects, [[case] for case in ended], page_shares(bench.host_buffers()))


class TimedSubject:
    """A case that the rounds visit; `start` gives what times it."""

    def __init__(self, template: Case, start: Start) -> None:
        self.template = template
        self._start = start

    def visit(self, quota: Quota, collected: Collected) -> None:
        """Take samples, and check what arrived."""
        timed = self._start()
        checked = timed.checks == "always" or (timed.checks == "first" and not collected.count)
        if checked:
            timed.poison()
        timed.warm_up(quota.warmups)
        collected.begin()
        for metric, samples in timed.run(quota).items():
            collected.samples.setdefault(metric, []).extend(samples)
        collected.template = timed.described(collected.template)
        for companion in timed.companions():
            collected.add_companion(companion)
        collected.verified = timed.checks != "never"
        if checked and not collected.wrong:
            collected.wrong = timed.verify()
