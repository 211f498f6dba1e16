"""Groups of transfers whose buffers fit into memory together, so that as many as possible are measured interleaved."""

from collections.abc import Callable, Sequence
from itertools import groupby

from isthmus.record import MIB, Case, Direction, format_bytes


def directions_of(case: Case) -> Sequence[Direction]:
    """The directions that run at once."""
    return ("h2d", "d2h") if case.direction == "both" else (case.direction or "h2d",)


def buffers_of(case: Case) -> str:
    """A name for the buffers that it shares; each method leaves untouched memory in a state of its own."""
    return f"untouched {case.method}" if case.host_memory == "untouched" else case.host_memory


def bytes_needed(cases: Sequence[Case], shares_host_memory: bool) -> int:
    """Host memory for the buffers of all cases; with the device's buffers where device memory is host memory."""
    total = 0
    for direction in ("h2d", "d2h"):
        largest: dict[str, int] = {}
        for case in cases:
            if direction in directions_of(case):
                largest[buffers_of(case)] = max(largest.get(buffers_of(case), 0), case.bytes)
        total += sum(largest.values())
        if shares_host_memory:
            total += max(largest.values(), default=0)
    return total


def split_by_memory(cases: Sequence[Case], budget_bytes: int, shares_host_memory: bool) -> list[Sequence[Case]]:
    """All cases together if they fit; else the small sizes together, and the large ones kind by kind.

    A kind whose large sizes do not fit is split by direction, and what still does not fit is in no group.
    """

    def fits(group: Sequence[Case]) -> bool:
        return bytes_needed(group, shares_host_memory) <= budget_bytes

    together = _largest_prefix(cases, fits)
    groups: list[Sequence[Case]] = [together] if together else []
    most = max((case.bytes for case in together), default=-1)
    rest = [case for case in cases if case.bytes > most]
    rest.sort(key=lambda case: (buffers_of(case), str(case.direction), case.bytes))
    for _, kind in groupby(rest, key=buffers_of):
        of_kind = list(kind)
        if fits(of_kind):
            groups.append(of_kind)
            continue
        for _, of_direction in groupby(of_kind, key=lambda case: case.direction):
            fitting = _largest_prefix(list(of_direction), fits)
            groups.extend([fitting] if fitting else [])
    return groups


def most_managed_bytes(free_bytes: int, other_bytes: int = 0) -> int:
    """How much managed memory a device with so much free memory may have besides `other_bytes` of its own.

    Managed memory beyond the card's own makes the driver evict, which on some machines hangs the GPU.
    """
    return max(free_bytes - other_bytes, 0) // 2


def over_half(limit_bytes: int) -> str:
    """Why managed memory beyond `most_managed_bytes` is left out."""
    return f"exceeds half of the free device memory ({format_bytes(limit_bytes >> 20 << 20)})"


def over_budget(budget_bytes: int) -> str:
    """Why a case is left out whose memory exceeds the budget."""
    whole = budget_bytes >> 20 << 20 if budget_bytes >= MIB else budget_bytes
    return (
        f"its buffers exceed the {format_bytes(whole)} of host memory that this run may take; "
        "--memory-budget allows more"
    )


def _largest_prefix(cases: Sequence[Case], fits: Callable[[Sequence[Case]], bool]) -> list[Case]:
    """The cases up to the largest size with which all of them fit."""
    for size in sorted({case.bytes for case in cases}, reverse=True):
        group = [case for case in cases if case.bytes <= size]
        if fits(group):
            return group
    return []
