"""Which of many rows count: the newest of each device, the launches that are whole, and machines of one name."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from isthmus.errors import as_text
from isthmus.fleet.hosts import natural
from isthmus.fleet.reading import DeviceRow, FilePart


@dataclass
class SortedOut:
    """Which rows count: the `newest` of each device, and `further` phases of some of them, each with its row."""

    newest: list[DeviceRow]
    further: list[tuple[DeviceRow, DeviceRow]]
    duplicates: list[DeviceRow]
    of_ranks: int


def sorted_out(parts: list[FilePart]) -> SortedOut:
    """The newest row of each device; what a fleet file says counts before its ranks' own files.

    Ranks of one launch that share a device are kept apart: by its first rank, its second, and so on.
    """
    rows = [device for part in parts for device in part.devices]
    run_files = frozenset().union(*(part.run_files for part in parts))
    gathered_ranks = {(row.fleet, row.rank) for row in rows if row.member is not None}
    sharing: dict[tuple[str, str, str], set[int]] = {}
    for row in rows:
        sharing.setdefault((row.fleet, row.host, row.card), set()).add(row.rank or 0)
    order_of = {key: {rank: place for place, rank in enumerate(sorted(ranks))} for key, ranks in sharing.items()}
    newest: dict[tuple[str, str, int], DeviceRow] = {}
    outcome = SortedOut([], [], [], 0)
    for row in rows:
        in_launch = (row.fleet, row.rank) in gathered_ranks if row.fleet else as_text(row.path.name) in run_files
        if row.member is None and in_launch:
            outcome.of_ranks += 1
            continue
        key = row.host, row.card, order_of[row.fleet, row.host, row.card][row.rank or 0]
        other = newest.get(key)
        if other is not None and other.member is None and row.member is None and row.fleet and row.fleet == other.fleet:
            outcome.further.append((row, other))
            continue
        if other is None or _when(row) > _when(other):
            newest[key] = row
        if other is not None:
            outcome.duplicates.append(other if newest[key] is row else row)
    outcome.newest = list(newest.values())
    return outcome


def _when(row: DeviceRow) -> datetime:
    """When its file says that it was measured; anything else is older than any time."""
    try:
        moment = datetime.fromisoformat(row.created.replace("Z", "+00:00"))
    except ValueError:
        return datetime.min.replace(tzinfo=timezone.utc)
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def partial_launches(kept: Sequence[DeviceRow], outcome: SortedOut) -> dict[str, tuple[int, int]]:
    """Launches that are known by their ranks' files alone, and not by all."""
    seen: dict[tuple[str, int], set[int | None]] = {}
    for row in (*kept, *outcome.duplicates):
        if row.fleet and row.member is None:
            seen.setdefault((row.fleet, row.ranks), set()).add(row.rank)
    whole = {row.fleet for row in kept if row.member is not None}
    here = {row.fleet for row in kept}
    return {fleet: (len(ranks), of) for (fleet, of), ranks in seen.items() if len(ranks) < of and fleet in here - whole}


def told_apart(devices: Sequence[DeviceRow]) -> list[DeviceRow]:
    """The same devices, those of different machines with one name numbered by machine.

    Machines are different where one launch counted them as such, or where two cards have one address.
    """
    machines: dict[str, list[dict[tuple[str, str], str]]] = {}
    named = []
    for device in devices:
        marks = {}
        if device.fleet and device.node is not None:
            marks["launch", device.fleet] = str(device.node)
        # Parts of a card are several at its address.
        if device.pci_address and device.card.startswith("GPU-") and "MIG" not in device.fact("device"):
            marks["address", device.pci_address] = device.card
        known = machines.setdefault(device.host, [])
        fitting = (at for at, each in enumerate(known) if all(each.get(key) in (None, marks[key]) for key in marks))
        number = next(fitting, len(known))
        if number == len(known):
            known.append({})
        known[number] |= marks
        named.append(replace(device, twin=number) if number else device)
    return named


def order(device: DeviceRow) -> tuple[object, ...]:
    """Hosts as people count them, and the devices of each as they stand on its bus."""
    return natural(device.host), device.host, device.pci_address, device.spec, device.card
