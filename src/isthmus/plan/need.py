"""What a program needs to be moved, as its user describes it."""

from dataclasses import dataclass
from typing import Literal

from isthmus.record import LayoutName

OneWay = Literal["h2d", "d2h"]
# Where the host's data lies: in ordinary memory that is there and stays there; in pinned memory that is there; or in a
# buffer that the program is still to allocate and may allocate as it likes.
BufferSource = Literal["pageable", "pinned", "new"]
PiecesSource = Literal["pageable", "pinned"]


@dataclass(frozen=True)
class BufferNeed:
    """One contiguous buffer of `bytes`, moved `uses` times; direction ``both`` is there and back."""

    bytes: int
    direction: Literal["h2d", "d2h", "both"] = "h2d"
    uses: int = 1
    source: BufferSource = "pageable"


@dataclass(frozen=True)
class PiecesNeed:
    """`pieces` of `piece_bytes` each that lie apart on the host, the device, or both."""

    pieces: int
    piece_bytes: int
    direction: OneWay = "h2d"
    source: PiecesSource = "pageable"
    host_layout: LayoutName = "scattered"
    device_layout: LayoutName = "scattered"


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


@dataclass(frozen=True)
class ManagedNeed:
    """An array of `bytes` of which the device touches the leading `fraction`, or one double in every `stride_bytes`."""

    bytes: int
    fraction: float | None = None
    stride_bytes: int | None = None


@dataclass(frozen=True)
class PipelineNeed:
    """`bytes` that go to the device, are worked on for `compute_seconds` in all, and come back.

    `chunks` is None where the plan is to choose.
    """

    bytes: int
    compute_seconds: float
    chunks: int | None = None
    source: BufferSource = "pinned"


Need = BufferNeed | PiecesNeed | SectionNeed | ManagedNeed | PipelineNeed
