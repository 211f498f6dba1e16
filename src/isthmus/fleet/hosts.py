"""Names of hosts: in the order in which people count, and in the short form that Slurm's tools take."""

import re
from collections import defaultdict
from collections.abc import Iterable

# What a cluster's tools take for a name; anything else could be taken for an option, a list or a command.
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)
_NUMBERED = re.compile(r"(.*?)(\d{1,15})([^0-9]*)", re.ASCII | re.DOTALL)


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
    _share_widths(families)
    return ",".join([_bracketed(*family, numbers) for family, numbers in families.items() if numbers] + alone)


def _share_widths(families: dict[tuple[str, str, int], set[int]]) -> None:
    """Numbers such as 10 go with 08 and 09, since they are as wide."""
    for (before, after, width), numbers in list(families.items()):
        if width and (plain := families.get((before, after, 0))):
            fitting = {number for number in plain if len(str(number)) == width}
            numbers.update(fitting)
            plain -= fitting


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
