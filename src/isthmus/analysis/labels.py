"""Names that every reporter gives to the same things: runs, directions, methods and memory kinds."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from isthmus.analysis.phrases import describe_device, memory_label
from isthmus.analysis.statistics.curve import Curve, Point
from isthmus.language import say, say_or
from isthmus.messages import printable
from isthmus.record import Run, format_rate, format_seconds

DIRECTIONS = ("h2d", "d2h", "both", "peer")

# How the bandwidth experiment moves these kinds, unless stated otherwise.
_USUAL_METHODS = {
    "mapped": "kernel",
    "managed": "prefetch",
    "pageable_isthmus": "isthmus",
    "untouched_isthmus": "isthmus",
}


def kind_heading(kind: str) -> str:
    """A memory kind as a column heading of short lines."""
    return in_lines(memory_label(kind))


def direction_title(direction: str) -> str:
    """The direction as a heading; for both directions it says that rates are sums."""
    return say_or(f"labels.direction_{direction}", direction)


def heading(curve: Curve) -> str:
    """The curve as a column heading of short lines; the method is stated where the kind does not imply it."""
    return "\n".join(map(in_lines, _name_parts(curve)))


def curve_name(curve: Curve) -> str:
    """The curve in a legend or a cell of a table."""
    return ", ".join(_name_parts(curve))


def in_lines(label: str) -> str:
    """A line for each word, a hyphen staying with what is before it."""
    return re.sub(r"[,、，] ?| |(?<=-)", "\n", label)


def moved_label(kind: str) -> str:
    """A memory kind with how the bandwidth experiment moves it unless stated otherwise."""
    return say_or(f"memory.moved_label_{kind}", memory_label(kind))


def is_usual(method: str, kind: str) -> bool:
    """Whether the kind implies the method."""
    return method == _USUAL_METHODS.get(kind, "copy")


def _name_parts(curve: Curve) -> Iterator[str]:
    yield moved_label(curve.host_memory)
    if curve.method == "duplex":
        yield curve.direction.upper()
        return
    if not is_usual(curve.method, curve.host_memory):
        yield curve.method
    if curve.alignment_bytes is not None:
        yield say("labels.aligned", count=curve.alignment_bytes)


def run_label(runs: Sequence[Run], index: int) -> str:
    """A letter for one of several runs, nothing for a single one."""
    if len(runs) == 1:
        return ""
    return chr(ord("A") + index) if index < 26 else str(index + 1)


def run_title(runs: Sequence[Run], index: int) -> str:
    """Run and device in words, where there are several with their letter and all that differs.

    That is the host, where not all are of one, and of ranks of a fleet which one measured alone or with the others.
    """
    run, letter = runs[index], run_label(runs, index)
    host = run.fingerprint.host.name
    where = "labels.run_on" if host and any(each.fingerprint.host.name != host for each in runs) else "labels.run"
    title = say(where, device=describe_device(run), host=host, run=run.run)
    if run.launch and letter:
        title = say(f"labels.run_{run.launch.phase}", title=title, rank=run.launch.rank)
    return printable(f"{letter}: {title}" if letter else title)


def of_run(title: str, runs: Sequence[Run], index: int) -> str:
    """The title, with the run where there are several."""
    return title if len(runs) == 1 else say("labels.of_run", title=title, run=run_title(runs, index))


_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Source(Generic[_Value]):
    """What one of the runs of a report holds: all of them, its place, and a value."""

    runs: Sequence[Run]
    index: int
    value: _Value

    @property
    def run(self) -> Run:
        """The one that holds it."""
        return self.runs[self.index]

    @property
    def target(self) -> float:
        """The relative half width that this run aimed at."""
        return self.run.settings.target_relative_half_width

    @property
    def label(self) -> str:
        """The letter of its run."""
        return run_label(self.runs, self.index)

    def titled(self, title: str) -> str:
        """The title, with the run where there are several."""
        return of_run(title, self.runs, self.index)

    def lettered(self, title: str) -> str:
        """The title after the letter of the run, where there are several."""
        return f"{self.label}: {title}" if self.label else title


def sources(runs: Sequence[Run], analysis: Callable[[Run], Iterable[_Value]]) -> list[Source[_Value]]:
    """All that an analysis gives of each run, run after run."""
    return [Source(runs, index, value) for index, run in enumerate(runs) for value in analysis(run)]


def one_of_each(runs: Sequence[Run], analysis: Callable[[Run], _Value | None]) -> list[Source[_Value]]:
    """What an analysis gives of each run of which it gives anything."""
    return sources(runs, lambda run: [value] if (value := analysis(run)) is not None else [])


def details(point: Point) -> dict[str, str]:
    """Rate, interval and time of a point, and their samples, by the names that a reader sees."""
    low, high = format_rate(point.rate.low), format_rate(point.rate.high)
    return {
        say("labels.told_rate"): format_rate(point.rate.median),
        say("labels.told_interval"): say("common.range", low=low, high=high),
        say("labels.told_time"): format_seconds(point.seconds.median),
        **samples_of(point),
    }


def samples_of(point: Point) -> dict[str, str]:
    """How many samples a point has, and whether its data was checked."""
    return {
        say("labels.told_samples"): str(len(point.samples)),
        say("labels.told_verified"): say(f"labels.verified_{point.case.verified}"),
    }


def in_one_text(named: Mapping[str, str]) -> str:
    """``rate 1.57 GB/s, samples 30``."""
    return say("common.comma").join(say("labels.named_value", name=name, value=value) for name, value in named.items())
