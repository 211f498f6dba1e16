"""Figures published elsewhere: data files next to this module, one for each source, keyed by fields of cases."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from isthmus.record import Metric

Quantity = Literal["seconds", "rate", "times", "size", "percent"]
# Fields of a case with the values that they must have.
Fields = Mapping[str, str | int | float | None]
Ends = tuple[float, float]


class Series(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Published values of one quantity, by a field of cases.

    Its name in a report is ``published.series_`` and `text`, or `name`, with `words` that read alike in every language;
    `name` itself where there is no such text, or kind of memory and way where it is a rate of such.

    `case` are the fields that a measured case must have; `over` are those that differ in the case by whose time its own
    is divided. `values` are by the value of the field `along`, by "" where there is none. Two numbers are a range, with
    `quotient` the first over the second; null is "never". With `union` the table also has places that were measured
    and not published; with `between`, the first and last place to look at, it has one row for the range over all.
    `metric` names the clock where it was not the host's.
    """

    name: str
    quantity: Quantity
    values: dict[str, float | Ends | None]
    text: str = ""
    words: Mapping[str, str] = {}
    case: Fields = {}
    over: Fields = {}
    along: str = ""
    union: bool = False
    quotient: bool = False
    between: tuple[int, int] | None = None
    metric: Metric | None = None

    @property
    def by_place(self) -> Mapping[int, Ends | None]:
        """Smallest and largest published value by place, 0 where there is no `along`."""
        return {int(place or 0): self._ends(value) for place, value in self.values.items()}

    def _ends(self, value: float | Ends | None) -> Ends | None:
        if isinstance(value, tuple):
            return (value[0] / value[1],) * 2 if self.quotient else value
        return None if value is None else (value, value)


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one source says about one experiment; `beside` are sets of fields that each make a column of the run.

    The series named in `by_place` also make a table of their own: a row for each place, and columns for each series.
    """

    series: tuple[Series, ...]
    case: Fields = {}
    beside: tuple[Fields, ...] = ({},)
    by_place: tuple[str, ...] = ()


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A publication and the machine that it measured, which ``published.machine_`` and `machine` name.

    Rates are in `rate_unit`, of `rate_unit_bytes` each.
    `link_bytes_per_second` is the theoretical rate of that machine's link, one way, where it is known.
    `commands` repeat it; ``published.question_`` and ``published.answer_`` with `machine` say what it asks, and what
    came of that here.
    """

    citation: str
    machine: str
    commands: tuple[str, ...]
    experiments: dict[str, Table]
    rate_unit: str = "GB/s"
    rate_unit_bytes: float = 1e9
    link_bytes_per_second: float | None = None


@cache
def sources() -> tuple[Source, ...]:
    """All of them."""
    paths = sorted((path for path in files(__package__).iterdir() if path.name.endswith(".json")), key=str)
    return tuple(msgspec.json.decode(path.read_bytes(), type=Source) for path in paths)
