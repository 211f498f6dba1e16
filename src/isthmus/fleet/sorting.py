"""Which of many rows count: the newest of each device, the launches that are whole, and machines of one name."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

from isthmus.errors import as_text
from isthmus.fleet.reading import DeviceRow, FilePart

# What a cluster's tools take for a name; anything else could be taken for an option, a list or a command.
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)
_NUMBERED = re.compile(r"(.*?)(\d{1,15})([^0-9]*)", re.ASCII | re.DOTALL)


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


def is_host_name(name: str) -> bool:
    """Whether a name can be handed to Slurm or Kubernetes: letters, digits, dots, dashes and underscores."""
    return len(name) <= 253 and _NAME.fullmatch(name) is not None


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts node2 before node10."""
    parts = re.split(r"([0-9]{1,15})", name)
    return tuple((0, int(part), "") if place % 2 else (1, 0, part) for place, part in enumerate(parts))


def host_list(names: Iterable[str]) -> str:
    """Names in the brackets that scontrol takes: ``node[1-3,07],login``. Names that are none are to be left out before.

    The last number of a name counts; numbers of different width with leading zeros stay apart, as in ``n[08-10]``.
    """
    families: dict[tuple[str, str, int], set[int]] = defaultdict(set)
    alone = []
    for name in sorted(set(names), key=lambda each: (natural(each), each)):
        match = _NUMBERED.fullmatch(name)
        if match is None:
            alone.append(name)
            continue
        digits = match[2]
        # 0 for numbers without leading zeros, which count from 9 to 10; a width for those that have some.
        width = len(digits) if digits.startswith("0") and len(digits) > 1 else 0
        families[match[1], match[3], width].add(int(digits))
    # Numbers such as 10 go with 08 and 09, since they are as wide.
    for (before, after, width), numbers in list(families.items()):
        if width and (plain := families.get((before, after, 0))):
            fitting = {number for number in plain if len(str(number)) == width}
            numbers.update(fitting)
            plain -= fitting
    return ",".join([_bracketed(*family, numbers) for family, numbers in families.items() if numbers] + alone)


def _bracketed(before: str, after: str, width: int, numbers: set[int]) -> str:
    ranges: list[list[int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    texts = [f"{first:0{width}}" if first == last else f"{first:0{width}}-{last:0{width}}" for first, last in ranges]
    if len(texts) == 1 and "-" not in texts[0]:
        return f"{before}{texts[0]}{after}"
    return f"{before}[{','.join(texts)}]{after}"
