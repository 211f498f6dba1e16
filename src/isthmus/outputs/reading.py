"""What an output says of one device, how outputs of several tools come together, and the run that they make."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from isthmus.record import (
    FORMAT,
    GIB,
    SCHEMA_VERSION,
    Case,
    Device,
    Direction,
    Fingerprint,
    Host,
    Link,
    Metric,
    Run,
    Series,
    Settings,
)

# For copies whose size an output does not say; rates of large ones hardly depend on it.
UNKNOWN_BYTES = GIB
_ADDRESS = re.compile(r"(?:([0-9a-f]+):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.([0-7]))?")
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6, 128.0: 7}
# Repeats of one copy on a quiet machine differ by a few per cent.
_SAME = 1.05
# A rate that is so much of what the link carries says that the link was read as it was while copies ran.
_LIKE = (0.6, 1.02)
_METRICS: Mapping[str, Metric] = {"duplex": "device_seconds"}


Method = Literal["copy", "duplex", "kernel"]


class Figure(NamedTuple):
    """One rate in bytes per second; direction "both" is a sum, method "duplex" one direction under the other."""

    direction: Direction
    rate: float
    method: Method = "copy"
    memory: Literal["pinned", "pageable"] = "pinned"
    bytes: int = UNKNOWN_BYTES


class Reading(msgspec.Struct, kw_only=True):
    """What one output says of one device; `index` counts those of a vendor, in the order of the tool.

    `host` is empty where it names none, and `ports` are the addresses of the ports above the device up to the slot's,
    whose errors are those of the same link.
    """

    vendor: Literal["NVIDIA", "AMD", ""] = ""
    index: int | None = None
    host: str = ""
    name: str = ""
    address: str = ""
    ports: tuple[str, ...] = ()
    uuid: str = ""
    driver: str = ""
    numa_node: int | None = None
    link: Link | None = None
    is_busy: bool = False
    conditions: dict[str, str] = {}
    figures: list[Figure] = []

    def is_same(self, other: "Reading") -> bool:
        """Whether both are of one device of one host: by its address where both say that, else by its number."""
        if self.host != other.host:
            return False
        if self.address and other.address:
            return other.address in (self.address, *self.ports)
        vendors = {self.vendor, other.vendor} - {""}
        return len(vendors) < 2 and self.index is not None and self.index == other.index

    def add(self, other: "Reading") -> None:
        """Take over what is not known yet, and all figures."""
        for name in ("vendor", "index", "name", "address", "ports", "uuid", "driver", "numa_node"):
            if getattr(self, name) in ("", (), None):
                setattr(self, name, getattr(other, name))
        self.figures = [*self.figures, *other.figures]
        # A device has the errors of both ends of its link; of one end that several logs count, the most.
        joined = {**other.conditions, **self.conditions}
        for name in joined:
            if name.startswith("aer_"):
                counts = [int(each.conditions.get(name, "0")) for each in (self, other)]
                joined[name] = str(max(counts) if self.index is None else sum(counts))
        self.conditions = joined
        self.link = self._link_with(other)
        self.is_busy = self.is_busy or other.is_busy

    def _link_with(self, other: "Reading") -> Link | None:
        """What the link runs at by the busy device's reading, or the faster one; what it can do by the fuller one."""
        if self.link is None or other.link is None:
            return self.link or other.link
        now = max((self, other), key=lambda each: (each.is_busy, each.speed)).link
        most = other.link if other.link.source == "lspci with port" else self.link
        replays = [each.replays for each in (self.link, other.link) if each.replays is not None]
        return msgspec.structs.replace(
            most, generation=now and now.generation, width=now and now.width, replays=max(replays, default=None)
        )

    @property
    def speed(self) -> float:
        """Bytes per second that the link carries as it was read; 0 where it was not."""
        return (self.link.theoretical_bytes_per_second if self.link else None) or 0.0

    @property
    def largest_difference(self) -> float:
        """The largest ratio between figures of the same copy; 1 without repeats."""
        rates: dict[Figure, list[float]] = {}
        for figure in self.figures:
            rates.setdefault(figure._replace(rate=0.0), []).append(figure.rate)
        return max((max(each) / min(each) for each in rates.values()), default=1.0)


def placed(readings: Sequence[Reading]) -> list[Reading]:
    """The readings, those without a host as of the one that the others name, if it is one; by its longest name."""
    hosts = {each.host for each in readings} - {""}
    whole = {host.partition(".")[0]: host for host in sorted(hosts)}
    only = next(iter(whole.values())) if len(whole) == 1 and len(hosts - whole.keys()) < 2 else ""
    return [
        msgspec.structs.replace(each, host=whole.get(each.host, each.host) if each.host else only) for each in readings
    ]


def merged(readings: Sequence[Reading]) -> list[Reading]:
    """A reading for each device, in the order of hosts and numbers; what logs say of an address is joined first."""
    logged = _joined([], (each for each in readings if each.index is None))
    devices = _joined(_joined([], (each for each in readings if each.index is not None)), logged)
    return sorted(devices, key=lambda each: (each.host, each.vendor, 999 if each.index is None else each.index))


def _joined(devices: list[Reading], readings: Iterable[Reading]) -> list[Reading]:
    for reading in readings:
        same = next((device for device in devices if device.is_same(reading)), None)
        if same:
            same.add(reading)
        else:
            devices.append(msgspec.structs.replace(reading))
    return devices


def run_of(reading: Reading, name: str) -> Run:
    """The reading as a run: its figures are cases of one sample each, or of several where outputs repeat them."""
    seconds: dict[Figure, list[float]] = {}
    for figure in reading.figures:
        moved = 2 * figure.bytes if figure.direction == "both" else figure.bytes
        seconds.setdefault(figure._replace(rate=0.0), []).append(moved / figure.rate)
    cases = [
        Case(
            experiment="bandwidth",
            method=figure.method,
            host_memory=figure.memory,
            bytes=figure.bytes,
            direction=figure.direction,
            series=[Series(metric=_METRICS.get(figure.method, "host_seconds"), samples=_judged(repeats))],
        )
        for figure, repeats in seconds.items()
    ]
    device = Device(
        backend={"NVIDIA": "cuda", "AMD": "rocm"}.get(reading.vendor, "gpu"),
        index=-1 if reading.index is None else reading.index,
        name=reading.name,
        vendor=reading.vendor,
        driver_version=reading.driver,
        uuid=reading.uuid,
        pci_address=reading.address,
        numa_node=reading.numa_node,
        link=_link_of(reading),
        conditions=reading.conditions,
    )
    unstated = any(figure.bytes == UNKNOWN_BYTES for figure in reading.figures)
    return Run(
        format=FORMAT,
        schema_version=SCHEMA_VERSION,
        run=name,
        created="",
        fingerprint=Fingerprint(isthmus_version="", device=device, host=Host(name=reading.host)),
        settings=Settings(options={"sizes": "unstated"} if unstated else {}),
        cases=cases,
    )


def _judged(seconds: Sequence[float]) -> list[float]:
    """The repeats to judge by: the slowest alone where they differ, and never two in the middle, which have a mean."""
    ordered = sorted(seconds)
    return ordered[-1:] if ordered[-1] > _SAME * ordered[0] else ordered[1 - len(ordered) % 2 :]


def _link_of(reading: Reading) -> Link | None:
    """The link, as it is under load if the device was busy, or if rates say that it was as slow while copies ran."""
    link = reading.link
    carries = link.theoretical_bytes_per_second if link else None
    if link is None or carries is None:
        return link
    alone = [each.rate for each in reading.figures if each.memory == "pinned" and each.direction != "both"]
    is_like = bool(alone) and _LIKE[0] * carries <= max(alone) <= _LIKE[1] * carries
    if reading.is_busy or is_like:
        return msgspec.structs.replace(link, generation_under_load=link.generation, width_under_load=link.width)
    if alone and max(alone) > _LIKE[1] * carries:  # It was read at rest: what it is under load is not known.
        return msgspec.structs.replace(link, generation=None, width=None)
    return link


def address_of(text: str) -> str:
    """``0000:3b:00.0`` of what tools print, such as ``00000000:3B:00``; empty if it is no address."""
    match = _ADDRESS.fullmatch(text.strip().lower())
    if match is None:
        return ""
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{int(bus, 16):02x}:{int(device, 16):02x}.{function or 0}"


def generation_of(gigatransfers: str) -> int | None:
    """What ``16`` or ``2.5`` GT/s belong to."""
    return _GENERATIONS.get(float(gigatransfers))


def number(text: str) -> float | None:
    """A figure of an output, with a point or, as some locales print it, a comma; None for ``N/A``."""
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if 0 < value < 1e6 else None


def numbered_rows(text: str) -> Iterator[tuple[str, list[float | None]]]:
    """The rows of a printed matrix: what they begin with, and their figures."""
    for line in text.splitlines():
        if match := re.fullmatch(r"\s*(\d+)((?:\s+(?:N/A|\d+[.,]\d+|0))+)\s*", line):
            yield match[1], [number(word) for word in match[2].split()]
