"""What a device did as iterations of a pipeline: copies in, work, copies out."""

from dataclasses import dataclass

import numpy as np

from isthmus.advice.rates import Seconds
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import (
    LARGE_COPY_BYTES,
    LEAST_CYCLES,
    MOST_SINGLE_KERNELS,
    OVERLAP_BYTES,
    OVERLAP_SECONDS,
    SINGLE_CHUNKS,
)
from isthmus.trace import Integers, direction_index, grouped, union

_IN, _WORK, _OUT = range(3)
# Kinds of iterations that are looked at: those that copy longest.
_MOST_KINDS = 64


@dataclass(frozen=True)
class Pipeline:
    """Iterations of one kind, which could run at the same time, or the one whose copies can be cut into chunks."""

    rows: Integers
    # Seconds of all kernels, with the copies as they are, and of both at once: each moment counted once.
    work: float
    busy: float
    both: float
    # How many chunks pass through.
    chunks: int
    is_loop: bool


def pipelines(scene: Scene) -> list[Pipeline]:
    """Loops of copies and kernels, and single large copies with long kernels.

    An iteration ends where the device goes back to an earlier stage; those that move the same bytes are of one loop.
    """
    rows = scene.copies[scene.trace.copies.bytes[scene.copies] >= OVERLAP_BYTES]
    begin, end = scene.kernels
    if not rows.size or not begin.size:
        return []
    stage = np.where(scene.trace.copies.direction[rows] == direction_index("h2d"), _IN, _OUT)
    stages = np.concatenate([stage, np.full(begin.size, _WORK)])
    begins = np.concatenate([scene.device_begin(rows), begin])
    ends = np.concatenate([scene.device_end(rows), end])
    order = np.argsort(begins, kind="stable")
    stages, begins, ends = stages[order], begins[order], ends[order]
    iteration = np.concatenate([[0], np.cumsum(stages[1:] < stages[:-1])])
    row_of = np.concatenate([rows, np.full(begin.size, -1)])[order]
    sizes = np.where(row_of >= 0, scene.trace.copies.bytes[np.maximum(row_of, 0)], 0)
    moved = [np.bincount(iteration, np.where(stages == each, sizes, 0)).astype(np.int64) for each in (_IN, _OUT)]
    work = np.bincount(iteration, np.where(stages == _WORK, ends - begins, 0.0))
    copied = np.bincount(iteration, np.where(stages != _WORK, ends - begins, 0.0))
    largest = np.zeros(work.size, np.int64)
    np.maximum.at(largest, iteration, sizes)
    is_large = (largest >= LARGE_COPY_BYTES) & (np.minimum(copied, work) >= OVERLAP_SECONDS)
    is_large &= np.bincount(iteration, stages == _WORK) <= MOST_SINGLE_KERNELS
    # Copies of a size that comes again and again belong to a loop whose iterations were not recognised.
    is_large &= ~np.isin(largest, _repeated(sizes[row_of >= 0]))
    usable = np.flatnonzero((work > 0) & (copied > 0))
    kinds = [usable[group] for group in grouped(moved[0][usable], moved[1][usable])]
    kinds = [same_kind for same_kind in kinds if same_kind.size >= LEAST_CYCLES or is_large[same_kind].all()]
    all_pipelines = []
    for same_kind in sorted(kinds, key=lambda kind: -float(copied[kind].sum()))[:_MOST_KINDS]:
        members = np.isin(iteration, same_kind)
        is_loop = same_kind.size >= LEAST_CYCLES
        chunks = int(same_kind.size) if is_loop else SINGLE_CHUNKS * int(same_kind.size)
        copies = row_of[members & (row_of >= 0)]
        all_pipelines.append(
            Pipeline(copies, *_times(stages[members], begins[members], ends[members]), chunks, is_loop)
        )
    return all_pipelines


def _repeated(sizes: Integers) -> Integers:
    distinct, counts = np.unique(sizes, return_counts=True)
    frequent: Integers = distinct[counts > 2 * LEAST_CYCLES]
    return frequent


def _times(stages: Integers, begins: Seconds, ends: Seconds) -> tuple[float, float, float]:
    of_work = stages == _WORK
    work, copied = (union(begins[mask], ends[mask]).length for mask in (of_work, ~of_work))
    busy = union(begins, ends).length
    return work, busy, work + copied - busy
