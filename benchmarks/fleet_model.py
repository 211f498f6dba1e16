"""Nodes of a made fleet, with faults whose place is known: what a measured H200 shows, with noise, in fleet files."""

import gzip
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from isthmus.record import (
    FLEET_FORMAT,
    FLEET_SCHEMA_VERSION,
    Cpu,
    Device,
    Fingerprint,
    Fleet,
    Host,
    Link,
    Member,
    Memory,
    NumaNode,
    Point,
    Summary,
    read_run,
)

__all__ = ["DEVICES", "Fault", "FleetModel"]

FaultName = Literal["link", "placement", "neighbours"]

DEVICES = 8
_HOSTS_PER_RACK = 10
# One device in so many, one rack in so many.
_LINK_IN, _NODE_IN, _SWITCH_IN = 500, 300, 50
# Of slow links, so many show in the fingerprint.
_SHOWN = 0.8
_LINK_RATE = 55.5e9
_SAMPLES = 20
# Every time with four digits that a file can hold, so that texts are as short as those of a real one.
_DIGITS = np.array([[float(f"{mantissa}e{power - 12}") for mantissa in range(1000, 10000)] for power in range(14)])


@dataclass(frozen=True)
class Fault:
    """What was planted in one device; `lost` is the share of the rate that it takes."""

    name: FaultName
    lost: float
    shown: bool = True


class FleetModel:
    """A fleet of so many hosts: the same seed gives the same files.

    `base` is a run file, whose bandwidth cases with times of the host are the points, alone and together. Every median
    varies by 2 %, and every device as a whole by 0.5 %, which is what pinned rates of real cards differ by.
    """

    def __init__(self, base: Path, hosts: int, seed: int, noise: float = 0.02) -> None:
        self.hosts, self.noise, self._seed = hosts, noise, seed
        cases = [
            case
            for case in read_run(base).cases
            if case.experiment == "bandwidth" and case.samples("host_seconds") and case.direction
        ]
        self.points = [
            Point(
                phase=phase,
                experiment=case.experiment,
                method=case.method,
                host_memory=case.host_memory,
                direction=case.direction,
                bytes=case.bytes,
            )
            for phase in ("alone", "together")
            for case in cases
        ]
        times = np.array([median(case.samples("host_seconds")) for case in cases])
        latencies: dict[tuple[str, str | None], float] = {}
        for case, seconds in zip(cases, times, strict=True):
            key = case.host_memory, case.direction
            latencies[key] = min(latencies.get(key, np.inf), float(seconds))
        self._latency: npt.NDArray[np.float64] = np.array(
            [latencies[case.host_memory, case.direction] for case in cases]
        )
        self._bytes: npt.NDArray[np.int64] = np.array([case.bytes for case in cases])
        # Eight devices at once share the host's memory and CPUs, which ordinary memory is copied with.
        pageable = np.array([case.host_memory.startswith("pageable") for case in cases])
        self._times = {"alone": times, "together": self._latency + (times - self._latency) * np.where(pageable, 1.3, 1)}
        self.faults = self._planted()

    def write(self, host: int, folder: Path) -> Path:
        """The file of one host."""
        random = np.random.default_rng([self._seed, 1, host])
        members = [self._member(host, device, random) for device in range(DEVICES)]
        fleet = Fleet(
            format=FLEET_FORMAT,
            schema_version=FLEET_SCHEMA_VERSION,
            fleet="simulated",
            created="2026-01-01T00:00:00Z",
            points=self.points,
            members=members,
        )
        path = folder / f"{name_of(host)}.json.gz"
        path.write_bytes(gzip.compress(msgspec.json.encode(fleet), compresslevel=1, mtime=0))
        return path

    def _planted(self) -> dict[tuple[int, int], Fault]:
        """Faults by host and device; no device has two."""
        random = np.random.default_rng([self._seed, 0])
        found: dict[tuple[int, int], Fault] = {}
        racks = -(-self.hosts // _HOSTS_PER_RACK)
        for rack in random.permutation(racks)[: round(racks / _SWITCH_IN) or 1]:
            host = min(int(rack) * _HOSTS_PER_RACK + int(random.integers(_HOSTS_PER_RACK)), self.hosts - 1)
            first, lost = 4 * int(random.integers(2)), float(random.uniform(0.1, 0.6))
            found |= {(host, first + place): Fault("neighbours", lost) for place in range(4)}
        devices = self.hosts * DEVICES
        rarities: tuple[tuple[FaultName, int], ...] = (("link", _LINK_IN), ("placement", _NODE_IN))
        for name, one_in in rarities:
            free = [each for each in range(devices) if divmod(each, DEVICES) not in found]
            for each in random.choice(free, round(devices / one_in) or 1, replace=False):
                shown = name != "link" or bool(random.random() < _SHOWN)
                most = 0.6 if name == "link" else 0.4
                found[divmod(int(each), DEVICES)] = Fault(name, float(random.uniform(0.1, most)), shown)
        return found

    def _member(self, host: int, device: int, random: np.random.Generator) -> Member:
        fault = self.faults.get((host, device))
        own = random.normal(0, 0.005)
        times = np.concatenate([self._with(fault, phase) for phase in ("alone", "together")])
        middle = times * np.exp(own + random.normal(0, self.noise, len(times)))
        quantiles = [_short(middle * factor).tolist() for factor in (0.98, 0.99, 1.0, 1.01, 1.05)]
        summaries = [
            Summary(_SAMPLES, least, lower, median, upper, most, "yes")
            for least, lower, median, upper, most in zip(*quantiles, strict=True)
        ]
        node = device // 4
        bound = 1 - node if fault and fault.name == "placement" else node
        return Member(
            fingerprint=_fingerprint(host, device, fault, random),
            rank=host * DEVICES + device,
            local_rank=device,
            summaries=summaries,
            bound_node=bound,
        )

    def _with(self, fault: Fault | None, phase: str) -> npt.NDArray[np.float64]:
        times: npt.NDArray[np.float64] = self._times[phase]
        latency = self._latency
        if fault is None or (fault.name == "neighbours" and phase == "alone"):
            return times
        if fault.name == "placement":
            return latency * (1 + fault.lost / 2) + (times - latency) / (1 - fault.lost)
        # What is slower than the link anyway does not notice.
        return np.maximum(times, latency + self._bytes / (_LINK_RATE * (1 - fault.lost)))


def name_of(host: int) -> str:
    """Rack and place in it, as clusters name their hosts."""
    rack, place = divmod(host, _HOSTS_PER_RACK)
    return f"r{rack:04}n{place:02}"


def _short(times: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    power = np.floor(np.log10(times)).astype(int)
    mantissa = np.clip(np.rint(times * 10.0 ** (3 - power)).astype(int), 1000, 9999)
    short: npt.NDArray[np.float64] = _DIGITS[power + 9, mantissa - 1000]
    return short


def _fingerprint(host: int, device: int, fault: Fault | None, random: np.random.Generator) -> Fingerprint:
    generation, width = 5, 16
    if fault and fault.name == "link" and fault.shown:
        generation, width = (5, 8) if random.random() < 0.5 else (4, 16)
    return Fingerprint(
        isthmus_version="0.1.0",
        python_version="3.12.3",
        device=Device(
            backend="cuda",
            index=device,
            name="NVIDIA H200",
            vendor="NVIDIA",
            # Some hosts are behind with updates, which makes none of them slow.
            driver_version="580.159.04" if host % 33 else "575.57.08",
            uuid=f"GPU-{host:08x}-{device:04x}",
            pci_address=f"0000:{0x10 * (device + 1):02x}:00.0",
            memory_bytes=150109880320,
            numa_node=device // 4,
            link=Link(
                generation=generation,
                width=width,
                max_generation=5,
                max_width=16,
                generation_under_load=generation,
                width_under_load=width,
                source="NVML",
            ),
            conditions={"confidential_computing": "off", "mig": "off", "throttling": "none"},
        ),
        host=Host(
            name=name_of(host),
            kernel="6.8.0-60-generic" if host % 17 else "6.8.0-51-generic",
            distribution="Ubuntu 24.04.3 LTS",
            cpu=Cpu(model="Intel(R) Xeon(R) Platinum 8480C", architecture="x86_64", sockets=2, logical=224, allowed=28),
            numa_nodes=[NumaNode(id=0, cpus="0-55,112-167"), NumaNode(id=1, cpus="56-111,168-223")],
            memory=Memory(total_bytes=2 << 40, transparent_huge_pages="madvise"),
            iommu="passthrough",
        ),
    )
