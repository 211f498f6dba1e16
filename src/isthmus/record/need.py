"""What a program needs to be moved, as its user describes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from isthmus.record.run import Case, LayoutName
from isthmus.record.units import KIB

OneWay = Literal["h2d", "d2h"]
# Where the host's data is: in ordinary memory that is there and stays there; in pinned memory that is there; or in a
# buffer that the program is still to allocate and may allocate as it likes.
BufferSource = Literal["pageable", "pinned", "new"]
PiecesSource = Literal["pageable", "pinned"]
PipelineSource = Literal["pageable", "pinned", "new"]


@dataclass(frozen=True)
class _Block:
    """What every need says of itself, as one of a block of `bytes` does.

    `amount` is what its times are in proportion to where it is large, `host_bytes` and `device_bytes` what it takes at
    least on either side, with what is between its parts. `moved_bytes` is None where rates are not its measure.
    `experiments` are those that a plan for it reads, by the names that `isthmus measure` takes.
    """

    bytes: int

    @property
    def amount(self) -> int:
        return self.bytes

    @property
    def host_bytes(self) -> int:
        return self.bytes

    @property
    def device_bytes(self) -> int:
        return self.bytes

    @property
    def moved_bytes(self) -> int | None:
        return None


@dataclass(frozen=True)
class BufferNeed(_Block):
    """One contiguous buffer of `bytes`, moved `uses` times; direction ``both`` is there and back."""

    direction: Literal["h2d", "d2h", "both"] = "h2d"
    uses: int = 1
    source: BufferSource = "pageable"

    @property
    def moved_bytes(self) -> int:
        """That of all uses."""
        return self.bytes * self.uses * (2 if self.direction == "both" else 1)

    @property
    def experiments(self) -> tuple[str, ...]:
        """Those that time what it takes."""
        return ("bandwidth",) if self.source == "pinned" else ("allocation", "bandwidth", "breakeven")


@dataclass(frozen=True)
class PiecesNeed:
    """`pieces` of `piece_bytes` each that lie apart on the host, the device, or both."""

    pieces: int
    piece_bytes: int
    direction: OneWay = "h2d"
    source: PiecesSource = "pageable"
    host_layout: LayoutName = "scattered"
    device_layout: LayoutName = "scattered"
    experiments: ClassVar[tuple[str, ...]] = ("batching",)

    @property
    def amount(self) -> int:
        """The pieces."""
        return self.pieces

    @property
    def host_bytes(self) -> int:
        """That of the pieces and of as much between them."""
        return 2 * self.moved_bytes

    @property
    def device_bytes(self) -> int:
        """That of the pieces."""
        return self.moved_bytes

    @property
    def moved_bytes(self) -> int:
        """That of the pieces."""
        return self.pieces * self.piece_bytes


@dataclass(frozen=True)
class SectionNeed:
    """`rows` of `width_bytes` each out of an array whose rows are `pitch_bytes` apart on the host.

    On the device they lie one after the other unless `device_pitch_bytes` says otherwise.
    """

    rows: int
    width_bytes: int
    pitch_bytes: int
    direction: OneWay = "h2d"
    source: PiecesSource = "pageable"
    device_pitch_bytes: int | None = None
    experiments: ClassVar[tuple[str, ...]] = ("strided",)

    @property
    def amount(self) -> int:
        """The rows."""
        return self.rows

    @property
    def host_bytes(self) -> int:
        """Rows, as far apart as on either side."""
        return self.rows * max(self.pitch_bytes, self.device_pitch_bytes or 0)

    @property
    def device_bytes(self) -> int:
        """That of the rows and of what is between them."""
        return self.rows * (self.device_pitch_bytes or self.width_bytes)

    @property
    def moved_bytes(self) -> int:
        """That of the rows alone."""
        return self.rows * self.width_bytes


@dataclass(frozen=True)
class ManagedNeed(_Block):
    """An array of `bytes` of which the device touches the leading `fraction`, or one double in every `stride_bytes`."""

    fraction: float | None = None
    stride_bytes: int | None = None
    experiments: ClassVar[tuple[str, ...]] = ("managed",)


@dataclass(frozen=True)
class PipelineNeed(_Block):
    """`bytes` that go to the device, are worked on for `compute_seconds` in all, and come back.

    `chunks` is None where the plan is to choose. `cpu_seconds` is what the CPU takes for that work, where it is asked
    whether to move it at all.
    """

    # One for each stage, and one in reserve.
    most_streams: ClassVar[int] = 4
    # Memory that pipelines go through, by where the data is.
    kinds: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "pageable": ("pageable", "registered"),
        "pinned": ("pinned",),
        "new": ("pageable", "pinned", "registered", "touched_registered", "touched_registered_huge"),
    }

    compute_seconds: float
    chunks: int | None = None
    source: PipelineSource = "pinned"
    cpu_seconds: float | None = None

    @property
    def experiments(self) -> tuple[str, ...]:
        """Those that time its stages; memory that is there is not allocated."""
        return ("bandwidth", "overlap") if self.source == "pinned" else ("allocation", "bandwidth", "overlap")


Need = BufferNeed | PiecesNeed | SectionNeed | ManagedNeed | PipelineNeed


class BufferWay(NamedTuple):
    """One way to move a buffer: what prices it, what measures it and what shows it all read this row.

    `held` is memory that is allocated, touched where its pages come only then, and freed, in this order; `memory` is
    the kind whose transfers it makes by `method`. `staged`: one thread's memcpy brings each use through that memory.
    `silent`: it is not mentioned where a run has no figures for it.
    """

    name: str
    source: BufferSource
    memory: str
    method: str = "copy"
    held: tuple[str, ...] = ()
    staged: bool = False
    silent: bool = False
    directions: tuple[str, ...] = ("h2d", "d2h", "both")

    def held_for(self, size: int) -> tuple[str, ...]:
        """What is held of a buffer of so many bytes: malloc recycles small ones (M_MMAP_THRESHOLD, mallopt(3))."""
        return ("malloc",) if self.held == ("pageable",) and size < _FRESH_FROM else self.held


_FRESH_FROM = 128 * KIB
# The plainest first. The CPU reads write-combined memory a hundred times slower; and what the device writes first into
# managed memory is never touched by the host, which no experiment times.
BUFFER_WAYS = (
    BufferWay("pageable", "pageable", "pageable"),
    BufferWay("isthmus", "pageable", "pageable", "isthmus"),
    BufferWay("registered", "pageable", "registered", held=("registered",)),
    BufferWay("staging", "pageable", "pinned", staged=True),
    BufferWay("pinned", "pageable", "pinned", held=("pinned",), staged=True),
    BufferWay(
        "touched_registered_huge", "pageable", "registered", held=("touched_registered_huge",), staged=True, silent=True
    ),
    BufferWay("pinned", "pinned", "pinned"),
    BufferWay("isthmus", "pinned", "pinned", "isthmus"),
    BufferWay("mapped", "pinned", "mapped", "kernel"),
    BufferWay("pageable", "new", "pageable", held=("pageable",)),
    BufferWay("isthmus", "new", "pageable", "isthmus", held=("pageable",)),
    BufferWay("pageable_huge", "new", "pageable_huge", held=("pageable_huge",)),
    BufferWay("pinned", "new", "pinned", held=("pinned",)),
    BufferWay("write_combined", "new", "write_combined", held=("write_combined",), directions=("h2d",)),
    BufferWay("registered", "new", "registered", held=("pageable", "registered")),
    BufferWay("touched_registered", "new", "registered", held=("touched_registered",)),
    BufferWay("touched_registered_huge", "new", "registered", held=("touched_registered_huge",)),
    BufferWay("mapped", "new", "mapped", "kernel", held=("mapped",)),
    BufferWay("managed_prefetch", "new", "managed", "prefetch", held=("managed",), directions=("h2d", "both")),
)


def buffer_ways_of(source: BufferSource, direction: str) -> tuple[BufferWay, ...]:
    """The methods to move a buffer that is there, or is still to be allocated."""
    return tuple(each for each in BUFFER_WAYS if each.source == source and direction in each.directions)


class Timed(NamedTuple):
    """What was measured at once of a need.

    `need` is what was measured: less than was asked for where that was too large. Cases name it as their method,
    and chunks as pieces; one that is skipped says why, and one with neither samples nor a skip was not come to.
    `ruled_out` were only tried, on little data: how many times as long as the fastest each took there.
    """

    need: Need
    cases: tuple[Case, ...]
    ruled_out: Mapping[str, float]
    seconds: float
