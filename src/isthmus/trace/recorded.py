"""What the readers of all makers share: which records can be right, what belongs together, and names of calls."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from isthmus.trace.columns import CAUSES, UNKNOWN, Integers

# Calls of OpenCL that wait, and for what; those of CUDA say it in their names.
OPENCL_WAITS = {"clFinish": "stream", "clWaitForEvents": "event"}

# ``cudaMemcpyAsync_v3020`` of CUPTI, ``cuMemcpyHtoDAsync_v2`` of the driver, and both on the per-thread default stream:
# ``cudaMemcpyAsync_ptsz_v7000``, ``cuMemcpyHtoDAsync_v2_ptsz``. Behind it is named whose copy it was, where not the
# driver's: ``cudaMemcpy_v3020, by isthmus accelerate``.
_VERSION = re.compile(r"(?:_(?:v\d+|ptsz|ptds))+(?=, by isthmus accelerate\Z|\Z)", re.ASCII)
# Behind the name of a call whose copy the library made, in a program under `isthmus accelerate`.
ACCELERATED = ", by isthmus accelerate"
# Correlations are below this.
CORRELATIONS = 1 << 32
# Nothing that a program does lasts a year.
MOST_NS = 365 * 24 * 3600 * 10**9
# Times count from when a recording began, a machine started, or 1970.
_LAST_NS = 1 << 62
# An address space; more is no count of bytes.
MOST_BYTES = 1 << 48
# CUPTI's word for no device, stream or correlation.
NO_NUMBER = 0xFFFFFFFF
# Places in `CAUSES` as CUPTI numbers why pages moved; 0 is unknown.
CAUSE_OF = {number: cause for cause, number in enumerate(range(1, len(CAUSES) + 1))}
_LONGEST = 80
_UNNAMED = re.compile(r"(?:\(anonymous namespace\)|<unnamed>|\{anonymous\})::")


def sound_rows(start_ns: Integers, end_ns: Integers, sizes: Integers | None, first_ns: int) -> Integers:
    """The places of records that can be right, by when they began; none begins before `first_ns`.

    `sizes` are the bytes of each, if records of this kind have any.
    """
    # CUPTI gives 0 for both times where it has none.
    sound = (start_ns >= first_ns) & (end_ns > 0) & (end_ns >= start_ns) & (end_ns < _LAST_NS)
    # What cannot be right is not subtracted, lest that overflow.
    sound &= end_ns - np.where(sound, start_ns, end_ns) <= MOST_NS
    if sizes is not None:
        sound &= (sizes >= 0) & (sizes <= MOST_BYTES)
    rows = np.flatnonzero(sound)
    return rows[np.argsort(start_ns[rows], kind="stable")]


def places_of(process: Integers, correlation: Integers, in_process: Integers, in_correlation: Integers) -> Integers:
    """For each record the place of what has its process and correlation; of several the first, of none UNKNOWN."""
    distinct, first = np.unique(_keys(in_process, in_correlation), return_index=True)
    wanted = _keys(process, correlation)
    if distinct.size == 0:
        return np.full_like(wanted, UNKNOWN)
    place = np.minimum(np.searchsorted(distinct, wanted), distinct.size - 1)
    return np.where((wanted >= 0) & (distinct[place] == wanted), first[place], UNKNOWN)


def paired(wanted: Sequence[Integers], among: Sequence[Integers]) -> Integers:
    """For each record the place of one alike in all columns: of n alike the n-th; of none, or none left, UNKNOWN."""
    count = wanted[0].size
    rows = np.stack([np.concatenate(each) for each in zip(wanted, among, strict=True)], axis=1)
    alike = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    number = np.concatenate([alike[:count], alike[count:]])
    # Alike ones one after the other, in the order in which they are given.
    for part in (slice(0, count), slice(count, None)):
        order = np.argsort(alike[part], kind="stable")
        ordered = alike[part][order]
        place = np.arange(order.size) - np.searchsorted(ordered, ordered)
        number[part][order] = ordered * (rows.shape[0] + 1) + place
    place = np.full(count, UNKNOWN, np.int64)
    _, ours, theirs = np.intersect1d(number[:count], number[count:], assume_unique=True, return_indices=True)
    place[ours] = theirs
    return place


def _keys(process: Integers, correlation: Integers) -> Integers:
    known = (process >= 0) & (correlation >= 0)
    return np.where(known, process * CORRELATIONS + correlation, UNKNOWN)


def looked_up(values: Integers, mapping: Mapping[int, int]) -> Integers:
    """What each value maps to; UNKNOWN for those that are not in the mapping."""
    distinct, places = np.unique(values, return_inverse=True)
    return np.array([mapping.get(value, UNKNOWN) for value in distinct.tolist()], np.int64)[places]


def call_name(recorded: str) -> str:
    """The name of a call of the driver or the runtime; any other name as it is."""
    return _VERSION.sub("", recorded) if recorded.startswith("cu") else recorded


def grouped(*keys: Integers) -> list[Integers]:
    """The places of the entries that are equal in every key, one array a group, each in the order of the entries."""
    if not keys[0].size:
        return []
    order = np.lexsort(keys)
    differs = np.zeros(order.size - 1, np.bool_)
    for key in keys:
        differs |= key[order][1:] != key[order][:-1]
    return np.split(order, np.flatnonzero(differs) + 1)


class Names:
    """Collects the texts that records refer to, each once."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    @property
    def all(self) -> tuple[str, ...]:
        """The texts so far, as they came; an index is a place among them."""
        return tuple(self._places)

    def place(self, text: str) -> int:
        """The index of a text, which is added where it is new."""
        return self._places.setdefault(text, len(self._places))

    def places(self, numbers: Integers, texts: Mapping[int, str]) -> Integers:
        """For each number the index of its text; UNKNOWN where it has none."""
        named = {number: texts[number] for number in np.unique(numbers).tolist() if number in texts}
        return looked_up(numbers, {number: self.place(text) for number, text in named.items()})


# What a graph of CUDA is called that a device reported as one, with none of its kernels and copies.
WHOLE_GRAPH = "CUDA graph"


def kernel_name(full: str) -> str:
    """A kernel's name without its result, its template arguments and its parameters."""
    if full == WHOLE_GRAPH:
        return full
    kept: list[str] = []
    depth, previous = 0, ""
    text = _UNNAMED.sub("", full)
    for letter in text:
        if letter == "<":
            depth += 1
        elif letter == ">" and previous != "-":
            depth = max(depth - 1, 0)
        elif depth == 0:
            if letter == "(":
                break
            kept.append(letter)
        previous = letter
    name = "".join(kept).strip().rpartition(" ")[2] or text
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
