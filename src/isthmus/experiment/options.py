"""What the user asked to measure, and what each mode means by it."""

import difflib
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from isthmus.errors import UsageError
from isthmus.record import GIB, KIB, MIB

__all__ = ["DIRECTIONS", "MEMORY_KINDS", "MODES", "Mode", "Options", "check_names"]

MEMORY_KINDS = ("pageable", "pageable_huge", "pinned", "write_combined", "registered", "mapped", "managed")
DIRECTIONS = ("h2d", "d2h", "both")

ModeName = Literal["quick", "default", "full"]


class Mode(NamedTuple):
    """How much time a mode takes for how much certainty."""

    sizes: Sequence[int]
    budget_seconds: float  # for one experiment; exceeded only to reach the least number of samples
    case_seconds: float  # for one case, likewise


def _powers_of_two(last: int) -> list[int]:
    return [1 << power for power in range(last.bit_length())]


MODES: dict[ModeName, Mode] = {
    "quick": Mode([1, 4 * KIB, 64 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB], 2.5, 0.2),
    "default": Mode(_powers_of_two(GIB), 23.0, 2.0),
    "full": Mode(_powers_of_two(4 * GIB), 300.0, 5.0),
}


class Options(NamedTuple):
    """The options of one measurement; empty sequences mean "all" or "the mode's"."""

    mode: ModeName = "default"
    sizes: Sequence[int] = ()
    memory: Sequence[str] = ()
    directions: Sequence[str] = ()
    alignment_bytes: int | None = None
    budget_seconds: float | None = None
    memory_budget_bytes: int | None = None
    seed: int = 0

    @property
    def chosen_sizes(self) -> Sequence[int]:
        """Sizes in bytes, ascending."""
        return self.sizes or MODES[self.mode].sizes

    @property
    def chosen_budget_seconds(self) -> float:
        """Time for one experiment."""
        return MODES[self.mode].budget_seconds if self.budget_seconds is None else self.budget_seconds

    @property
    def as_text(self) -> dict[str, str]:
        """What differs from the defaults, as the command line words it; for the record of the run."""
        given = {
            "sizes": ",".join(map(str, self.sizes)),
            "memory": ",".join(self.memory),
            "direction": ",".join(self.directions),
            "alignment": "" if self.alignment_bytes is None else str(self.alignment_bytes),
            "memory-budget": "" if self.memory_budget_bytes is None else str(self.memory_budget_bytes),
        }
        return {name: text for name, text in given.items() if text}


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
