"""What the user asked to measure, and what each mode means by it."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeVar

from isthmus.errors import UsageError

ModeName = Literal["quick", "default", "full"]
Name = TypeVar("Name", bound=str)


class Effort(NamedTuple):
    """How much time a mode takes for how much certainty."""

    sizes: Sequence[int]
    budget_seconds: float  # for the experiment; exceeded only to reach the least number of samples
    case_seconds: float  # for one case, likewise


class Options(NamedTuple):
    """The options of one measurement; empty sequences mean "all" or "the mode's"."""

    mode: ModeName = "default"
    sizes: Sequence[int] = ()
    memory: Sequence[str] = ()
    directions: Sequence[str] = ()
    both_memory: Sequence[str] = ()  # kinds that are copied in both directions at once even so
    alignment_bytes: int | None = None
    threads: Sequence[int] = ()  # that copy a buffer for each direction
    percents: Sequence[int] = ()  # of an array that are touched on demand
    strides: Sequence[int] = ()  # in bytes, between doubles that are touched on demand
    sides: Sequence[int] = ()  # of the squares that a stencil works on, in points
    halos: Sequence[int] = ()  # columns that ranks of a stencil exchange
    iterations: int | None = None  # in a sample of a stencil
    cuts: Sequence[str] = ()  # how ranks share a stencil's square
    binaries: str = ""  # folder of OpenACC programs that were built before
    together: bool = False  # whether hosts' links are measured at once, beside copies between devices
    budget_seconds: float | None = None
    memory_budget_bytes: int | None = None
    seed: int = 0

    def effort(self, of_modes: Mapping[ModeName, Effort]) -> Effort:
        """The mode's effort, with the sizes (in bytes, ascending) and the time that the user chose in its place."""
        effort = of_modes[self.mode]
        seconds = effort.budget_seconds if self.budget_seconds is None else self.budget_seconds
        return effort._replace(sizes=self.sizes or effort.sizes, budget_seconds=seconds)

    def chosen(self, known: Sequence[Name], given: Sequence[str]) -> list[Name]:
        """Those of `known` that were `given`, or all of them; an experiment leaves out what others know."""
        return [name for name in known if name in given] if given else list(known)

    @property
    def is_open(self) -> bool:
        """Whether the user left it to the mode what is measured, and for how long."""
        chosen = (*self.sizes, *self.memory, *self.directions, self.alignment_bytes, self.budget_seconds)
        return all(each is None for each in chosen)

    @property
    def as_text(self) -> dict[str, str]:
        """What differs from the defaults, as the command line words it; for the record of the run."""
        given = {
            "sizes": ",".join(map(str, self.sizes)),
            "memory": ",".join(self.memory),
            "direction": ",".join(self.directions),
            "alignment": "" if self.alignment_bytes is None else str(self.alignment_bytes),
            "threads": ",".join(map(str, self.threads)),
            "fractions": ",".join(f"{percent}%" for percent in self.percents),
            "strides": ",".join(map(str, self.strides)),
            "side": ",".join(map(str, self.sides)),
            "halo": ",".join(map(str, self.halos)),
            "iterations": "" if self.iterations is None else str(self.iterations),
            "cut": ",".join(self.cuts),
            "together": "yes" if self.together else "",
            "memory-budget": "" if self.memory_budget_bytes is None else str(self.memory_budget_bytes),
        }
        return {name: text for name, text in given.items() if text}


def powers_of_two(first: int, last: int, step: int = 1) -> list[int]:
    """Sizes from 2**first to 2**last bytes, every `step`-th power."""
    return [1 << power for power in range(first, last + 1, step)]


def check_names(what: str, given: Iterable[str], known: Sequence[str]) -> list[str]:
    """The given names, without repeats, in the order of `known`.

    Raises UsageError for an unknown one, offering the nearest.
    """
    names = set(given)
    for name in sorted(names - set(known)):
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}? There are" if near else "there are"
        raise UsageError(f"no {what} {name!r}; {hint} {', '.join(known)}")
    return [name for name in known if name in names]
