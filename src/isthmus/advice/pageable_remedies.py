"""Methods for copies of pageable memory from one place: what each saves of a copy, and costs once."""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from isthmus.advice.new_pages import into_new_pages, most_in_a_row
from isthmus.advice.rates import Range, Rates, Seconds, saved
from isthmus.advice.records import Interface
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import ACCELERATED_BYTES, LEAST_NEW_BUFFERS, NEW_BUFFERS_SHARE
from isthmus.plan import Unpriced
from isthmus.record import Direction
from isthmus.trace import UNKNOWN, Integers

# Whether copies are of memory that stays, that is new each time, of which also the pages are new, or nothing tells.
Memory = Literal["same", "new", "new pages", "unknown"]
# The plainest first, which leads where two save the same. OpenCL has no call that locks memory where it is.
_WAYS: Mapping[Interface, tuple[str, ...]] = {
    "cuda": ("registered", "pinned", "loader", "kept", "staging", "library"),
    "opencl": ("pinned", "kept", "staging"),
}
# Those of them that are for memory that is new each time.
_FOR_NEW = ("loader", "kept")
# A thread that pins ahead fills one buffer while the other is copied.
_LOADER_BUFFERS = 2


class Remedy(NamedTuple):
    """What one method of moving copies saves of each, and what it costs once."""

    name: str
    gains: Range
    once: Range

    @property
    def gain(self) -> float:
        """Seconds that it saves of all copies."""
        return float(self.gains[:, 0].sum() - self.once[0])


class Group(NamedTuple):
    """Copies of one direction, place and size, or nearly, with what they cost and what of it can be gained."""

    rows: Integers
    direction: Direction
    sizes: Integers
    cost: Seconds
    exposed: Seconds


def memory_of(scene: Scene, rates: Rates, group: Group) -> Memory:
    """Told by how slowly new pages are made, else by addresses."""
    if into_new_pages(scene, rates, group.rows).mean() > 0.5:
        return "new pages"
    addresses = np.unique(scene.host_address(group.rows))
    if (addresses == UNKNOWN).any():
        return "unknown"
    return "new" if addresses.size >= max(LEAST_NEW_BUFFERS, NEW_BUFFERS_SHARE * group.rows.size) else "same"


def best_remedy(scene: Scene, rates: Rates, group: Group, memory: Memory) -> Remedy:
    """The method that saves most, with what it costs once. Raises Unpriced where the run can price none."""
    sizes, largest = group.sizes, int(group.sizes.max())
    # Without addresses, copies of one place and size are taken to be of one buffer.
    buffers = np.unique(scene.host_address(group.rows)).size
    counts = {"loader": _LOADER_BUFFERS, "kept": most_in_a_row(scene, group.rows), "staging": 1}
    recipes: dict[str, Callable[[], Range]] = {
        "registered": lambda: rates.copy("registered", group.direction, sizes),
        "pinned": lambda: rates.copy("pinned", group.direction, sizes),
        "loader": lambda: _ahead(scene, rates, group),
        "kept": lambda: rates.copy("pinned", group.direction, sizes),
        "staging": lambda: rates.copy("pinned", group.direction, sizes) + rates.memcpy(sizes),
        "library": lambda: rates.library(group.direction, sizes, fresh=memory == "new pages"),
    }
    candidates: list[Remedy] = []
    for name in _candidates(scene, group.direction, memory):
        try:
            gains = saved(group.cost, recipes[name](), group.exposed)
            candidates.append(Remedy(name, gains, _once(rates, name, largest, counts.get(name, buffers))))
        except Unpriced as unpriced:
            reason = unpriced
    if not candidates:
        raise reason
    return max(candidates, key=lambda way: way.gain)


def accelerated(scene: Scene, rates: Rates, group: Group, memory: Memory) -> Range | None:
    """What each copy saves under `isthmus accelerate`, without a change in the program; None where that is not known.

    Small copies stay the driver's, and so do those of which it is the faster.
    """
    if not _has_library(scene):
        return None
    try:
        seconds = rates.library(group.direction, group.sizes, fresh=memory == "new pages")
    except Unpriced:
        return None
    gains = saved(group.cost, seconds, group.exposed)
    gains[(group.sizes < ACCELERATED_BYTES) | (gains[:, 0] < 0)] = 0.0
    return gains


def _has_library(scene: Scene) -> bool:
    return scene.interface == "cuda" and not scene.other_vendor


def _candidates(scene: Scene, direction: Direction, memory: Memory) -> tuple[str, ...]:
    if memory == "new pages":
        # They are not there yet to be locked, and a copy from a pinned buffer has to make them, too.
        names: tuple[str, ...] = ("kept", "library")
    else:
        never = {"h2d": "kept", "d2h": "loader"}[direction]
        names = tuple(
            name for name in _WAYS[scene.interface] if name not in (_FOR_NEW if memory != "new" else (never,))
        )
    return tuple(name for name in names if name != "library" or _has_library(scene))


def _ahead(scene: Scene, rates: Rates, group: Group) -> Range:
    """Seconds of each copy where another thread fills its pinned buffer while the program does all else."""
    begun = scene.device_begin(group.rows)
    between = float(begun.max() - begun.min()) / max(group.rows.size - 1, 1)
    filled = rates.memcpy(group.sizes)
    # A thread that fills more slowly than the program goes on holds it up.
    late = filled - np.maximum(between - group.cost, 0.0)[:, np.newaxis]
    return np.maximum(rates.copy("pinned", group.direction, group.sizes), late)


def _once(rates: Rates, method: str, size: int, buffers: int) -> Range:
    """Locking memory that is there; pinned memory instead of what the program has; pinned buffers to stage in."""
    if method == "library":
        return np.zeros(3)
    if method == "registered":
        return rates.held("registered", size) * buffers
    pinned = rates.held("pinned", size)
    if method in ("staging", "loader"):
        return pinned * buffers
    spared: Range = rates.held("pageable", size)[[0, 2, 1]]
    return np.maximum(pinned - spared, 0.0) * buffers
