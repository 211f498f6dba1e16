"""What rates are normal for a device: ranges by three classes of evidence, from one table with a file a card kind.

The classes are what was measured for this project (a reference), public outputs of at least two sources that can be
looked up, and the theory of the link by generation and width. Other devices of the same kind in the same machine count
as a fourth where there are three of them.
"""

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from statistics import median
from typing import Literal, NamedTuple

import msgspec

from isthmus.record import Device, Direction, Link

Basis = Literal["measured", "public", "theory", "alike", "card"]
# A tool that reads the card alone: what the slot can do is not in its output. nvidia-smi reads generations of both.
CARD_ONLY = ("nvidia-smi", "lspci")
_LAPTOP = re.compile(r"Laptop|Max-Q|Mobile", re.IGNORECASE)
# Cards that are soldered or screwed to a board: what they are plugged into can do as much as they can.
_MODULE = re.compile(r"SXM|HBM3$|\b[BG]B?[23]00\b|\bGH200\b|\bH200$|\bMI3\d\d")


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers by which checks judge, here and in the program `isthmus-check`: ``rules.json``."""

    # The share of what is normal at least, below which a rate is a fault if a second class of evidence agrees.
    faulty_ratio: float
    # Relative half width of the median of large pinned copies; on a quiet machine it is a tenth of this.
    busy_width: float
    # Since the driver was loaded: a link that is well has a few in months.
    many_replays: int
    # Healthy links have a few corrected errors in weeks.
    many_corrected: int
    # Public outputs differ by so much from healthy ones that were not posted.
    room: float
    least_outputs: int
    least_alike: int
    # Devices of one kind in one machine are within a few per cent of one another.
    alike: float
    # Where the table has no healthy output of that vendor and generation.
    usual_share: float
    # A rate above what a link could carry says that the link was not read rightly.
    above: float
    # From so much on a device is in use.
    busy_percent: int
    # More than so many of a link that is watched are a flap.
    corrected_an_hour: int
    replays_an_hour: int


class Output(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What somebody posted of such a card: GB/s of large pinned copies, lowest and highest; `both` are sums."""

    source: str
    by: Literal["copy", "kernel"] = "copy"
    h2d: tuple[float, float] | None = None
    d2h: tuple[float, float] | None = None
    both: tuple[float, float] | None = None


class Kind(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A kind of card: part of its devices' names, its own link, and the outputs that are known of it.

    Only over `bus` "pcie" the link's theory says what copies reach: not behind a switch on the card, over NVLink to the
    host, or within shared memory. `full_host`: such modules are built only into hosts that can do as much as they can.
    `measured` names the reference that has what was measured for this project. For the program, which reads none,
    `least` has its lowest normal rates of 64 MiB by memory and direction in GB/s, `typical` the higher typical rate of
    pinned copies in one direction.
    """

    name: str
    match: list[str]
    vendor: str
    link: Link | None = None
    bus: Literal["pcie", "switched", "c2c", "shared"] = "pcie"
    full_host: bool = False
    measured: str = ""
    least: dict[str, dict[str, float]] = {}
    typical: float = 0.0
    note: str = ""
    outputs: list[Output]


class Shares(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The least share of the wire's rate that healthy copies reach: by vendor, method and generation."""

    source: str
    shares: dict[str, dict[str, dict[int, float]]]


class Normal(NamedTuple):
    """The least that is normal, in bytes per second, and what says so; `of` are runs, outputs or devices."""

    basis: Basis
    low: float
    of: int = 0
    sources: tuple[str, ...] = ()


@cache
def rules() -> Rules:
    """The numbers by which checks judge."""
    return msgspec.json.decode((files(__package__) / "rules.json").read_bytes(), type=Rules)


@cache
def kinds() -> tuple[Kind, ...]:
    """The table, by its files' names."""
    folder = files(__package__) / "kinds"
    paths = sorted((path for path in folder.iterdir() if path.name != "theory.json"), key=lambda path: path.name)
    return tuple(msgspec.json.decode(path.read_bytes(), type=Kind) for path in paths)


@cache
def _shares() -> Shares:
    return msgspec.json.decode((files(__package__) / "kinds" / "theory.json").read_bytes(), type=Shares)


def kind_of(name: str) -> Kind | None:
    """The kind of a device by the longest part of its name, in any case; None where the table has none."""
    # A laptop's card has other links than the desktop's of that name.
    is_laptop = _LAPTOP.search(name) is not None
    parts = [
        (len(part), kind)
        for kind in kinds()
        for part in kind.match
        if _has(name, part) and is_laptop == (_LAPTOP.search(part) is not None)
    ]
    return max(parts, key=lambda each: each[0])[1] if parts else None


def _has(name: str, part: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(part)}(?![A-Za-z0-9])", name, re.IGNORECASE) is not None


def is_module(name: str) -> bool:
    """Whether such a device sits on a baseboard, without a slot."""
    return _MODULE.search(name) is not None


def usual_share(device: Device, link: Link, method: str) -> float:
    """The least share of its link that copies of a healthy device reach."""
    by_method = _shares().shares.get(vendor_of(device), {}).get(method, {})
    return by_method.get(link.in_use[0] or 0, rules().usual_share)


def vendor_of(device: Device) -> str:
    """``NVIDIA`` or ``AMD`` as the table has it, or what the device says."""
    kind = kind_of(device.name)
    return "NVIDIA" if device.backend == "cuda" else kind.vendor if kind else device.vendor


def link_for(device: Device, links: Sequence[Link]) -> Link | None:
    """The link whose theory applies: the best of both ends where that is known, else the fastest read.

    Where none was read it is the card's own if every host can do as much, else None.
    """
    kind = kind_of(device.name)
    if kind and kind.bus != "pcie":
        return None
    if read := [link for each in links if (link := _at_best(each)).theoretical_bytes_per_second]:
        return max(read, key=lambda link: link.theoretical_bytes_per_second or 0)
    return kind.link if kind and kind.full_host else None


def _at_best(link: Link) -> Link:
    if link.source in CARD_ONLY:
        return link
    generation, width = link.max_generation or link.in_use[0], link.max_width or link.in_use[1]
    return Link(generation=generation, width=width)


def normal_rates(
    device: Device, direction: Direction, method: str, links: Sequence[Link], alike: Sequence[float] = ()
) -> list[Normal]:
    """What the table, the link and devices `alike` say of pinned copies; what is measured comes before all of it."""
    kind = kind_of(device.name)
    spans = (
        {each: span for each in kind.outputs if each.by == method and (span := getattr(each, direction))}
        if kind
        else {}
    )
    sources = [each.source for each in spans if "://" in each.source]
    normals: list[Normal] = []
    # Outputs that cannot be looked up widen the range, and are no evidence.
    if len(sources) >= rules().least_outputs:
        low = rules().room * 1e9 * min(span[0] for span in spans.values())
        normals.append(Normal("public", low, len(sources), tuple(sources)))
    link = link_for(device, links)
    if link and direction != "both":
        carries = link.theoretical_bytes_per_second or 0.0
        normals.append(Normal("theory", usual_share(device, link, method) * carries))
    if len(alike) >= rules().least_alike:
        normals.append(Normal("alike", rules().alike * median(alike), len(alike)))
    if not normals and kind and kind.bus == "pcie" and kind.link and direction != "both":
        # In a slot that may have less than the card: never enough for a fault.
        carries = kind.link.theoretical_bytes_per_second or 0.0
        normals.append(Normal("card", usual_share(device, kind.link, method) * carries))
    return normals
