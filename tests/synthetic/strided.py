"""Runs of the strided experiment whose truth is known: seconds of each method for so many rows of a width."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from isthmus.record import KIB, Case, Direction, LayoutName, Verified
from tests.synthetic.made import drawn

# Seconds for rows of a width, and for their number.
Truth = Callable[[int, int], float]

WIDTHS = (1, 8, 64, 256, KIB, 4 * KIB)
ROWS = (32, KIB, 32 * KIB)
LINK = 55e9
# As an H200 behaves: 2.5 ns a row of the driver's copy, a kernel that starts later and runs at a rate of its own.
H200: Mapping[str, Truth] = {
    "section": lambda width, rows: 7e-6 + max(2.5e-9 * rows, width * rows / LINK),
    "copies": lambda width, rows: 5e-6 + 2.6e-6 * rows,
    "device_pack": lambda width, rows: 15e-6 + width * rows / 50e9,
    "kernel": lambda width, rows: 9e-6 + 0.1e-9 * rows + width * rows / 51e9,
}
KEYS: tuple[tuple[Direction, str], ...] = (("d2h", "pinned"), ("h2d", "pinned"))


def case(
    method: str,
    seconds: float,
    width: int,
    rows: int,
    *,
    pitch: int,
    direction: Direction = "d2h",
    memory: str = "pinned",
    host: LayoutName = "contiguous",
    device: LayoutName = "strided",
    noise: float = 0.002,
    samples: int = 12,
    seed: int = 5,
    verified: Verified = "yes",
    **fields: Any,
) -> Case:
    """One case whose samples spread around that time; rows lie `pitch` apart on the strided sides."""
    # Every case draws noise of its own, the same in each test.
    random = np.random.default_rng([seed, width, rows, *map(ord, method + direction + memory)])
    size = width * rows * fields.get("slices", 1)
    given: dict[str, Any] = {
        "pitch_bytes": pitch if host == "strided" else width,
        "device_pitch_bytes": pitch if device == "strided" else width,
        "moved_bytes": (rows - 1) * pitch + width if method == "whole" else size,
    } | fields
    return Case(
        experiment="strided",
        method=method,
        direction=direction,
        host_memory=memory,
        bytes=size,
        width_bytes=width,
        rows=rows,
        host_layout=host,
        device_layout=device,
        threads={"pack": 1, "pack_threads": 8}.get(method),
        series=[drawn(seconds, random, noise, samples)],
        verified=verified,
        **given,
    )


def grid(
    truths: Mapping[str, Truth] = H200,
    widths: Iterable[int] = WIDTHS,
    rows: Iterable[int] = ROWS,
    *,
    pitch: int | None = None,
    **fields: Any,
) -> list[Case]:
    """A case for each method, width and number of rows; without a pitch it is twice the width."""
    counts = tuple(rows)
    return [
        case(method, truth(width, count), width, count, pitch=pitch or 2 * width, **fields)
        for width in widths
        for count in counts
        for method, truth in truths.items()
    ]


def column(times: Mapping[str, float], **fields: Any) -> list[Case]:
    """The column of 30720 doubles out of rows of 34952 bytes."""
    return [case(method, seconds, 8, 30720, pitch=34952, **fields) for method, seconds in times.items()]


def box(times: Mapping[str, float], *, padded: bool, **fields: Any) -> list[Case]:
    """The inner box of a cube of 64 doubles a side, to or from an array of its own size on the device."""
    row = 512 if padded else 496
    places: dict[str, Any] = {
        "slices": 62,
        "pitch_bytes": 512,
        "slice_pitch_bytes": 64 * 512,
        "device_pitch_bytes": row,
        "device_slice_pitch_bytes": 62 * row,
    }
    device: LayoutName = "strided" if padded else "contiguous"
    return [
        case(method, seconds, 496, 62, pitch=512, host="strided", device=device, **places, **fields)
        for method, seconds in times.items()
    ]


def h200_cases() -> list[Case]:
    """Both directions of pinned memory, and the column with the times that were measured on one."""
    column_times = {"section": 51.5e-6, "device_pack": 24.5e-6, "kernel": 14.8e-6}
    cases = [made for direction, memory in KEYS for made in grid(direction=direction, memory=memory)]
    cases += column(column_times)
    cases += column({"whole": 19.4e-3, "section": 54e-6}, host="strided")
    return cases + [
        made
        for direction in ("d2h", "h2d")
        for padded in (False, True)
        for made in box({"section": 45e-6 if padded else 40e-6}, padded=padded, direction=direction)
    ]
