"""How unlikely it is that a device is as slow as it is by chance, for very many devices and kinds of transfers at once.

Per kind: the distance from the fleet's median in standard deviations, both robust, so that the slow devices themselves
do not hide each other (P. Rousseeuw, C. Croux, "Alternatives to the Median Absolute Deviation", 1993). Per device: its
kinds in one p-value after Simes (1986), which holds for kinds that are slow together. Over devices: Benjamini and
Hochberg (1995), so that of the named devices at most the stated rate are expected to be named wrongly. Which kinds of a
named device are slow: the same within it, at the rate that the naming leaves (Benjamini, Bogomolov, 2014).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isthmus.compare import corrected, robust_variance
from isthmus.fleet.reading import DeviceRow

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

# The share of named devices that may be named by chance.
RATE = 0.001
# A median absolute deviation of n values knows a normal distribution's spread as well as a standard deviation of 0.37 n
# does; what is known before counts like six.
_EFFICIENCY, _KNOWN_BEFORE = 0.37, 6
# Smaller ones have p-values that decide nothing.
_LEAST_DISTANCE = 2.0
# Among fewer devices it cannot be known which one is slow.
LEAST_ALIKE = 3
# A link or a processor that so many devices of a kind have, and so large a share of them, is another kind of machine;
# rarer ones are what went wrong with some.
_MANY, _SHARE = 16, 0.2
_INTERFACES = {"cuda": "CUDA", "opencl": "OpenCL"}


def slow_p_values(residuals: Floats, unseen: Sequence[float]) -> Floats:
    """For each kind (row) and device the chance to be as slow or slower; NaN where it was not measured.

    `unseen` is for each kind the standard deviation between machines before one has looked at any.
    """
    p_values = np.full(residuals.shape, np.nan)
    for row, values in enumerate(residuals):
        known = np.isfinite(values)
        if known.sum() < LEAST_ALIKE:
            continue
        inside = values[known]
        scale = math.sqrt(robust_variance(inside, unseen[row] ** 2))
        distances = (inside - np.median(inside)) / scale
        degrees = _KNOWN_BEFORE + _EFFICIENCY * (len(inside) - 1)
        p_values[row, known] = _upper_tail(distances, degrees)
    return p_values


def named_devices(p: Floats, rate: float = RATE) -> tuple[Flags, Flags]:
    """Which devices (columns) are slower than by chance, and in which kinds."""
    candidates = np.flatnonzero(np.any(p < rate, axis=0))
    kinds = np.isfinite(p).sum(axis=0)
    judged = int((kinds > 0).sum())
    named, slow = np.zeros(p.shape[1], np.bool_), np.zeros(p.shape, np.bool_)
    combined = np.array([_simes(p[:, device], int(kinds[device])) for device in candidates])
    order = np.argsort(combined, kind="stable")
    passed = np.flatnonzero(combined[order] <= rate * np.arange(1, len(order) + 1) / max(judged, 1))
    if not len(passed):
        return named, slow
    count = int(passed[-1]) + 1
    for device in candidates[order[:count]]:
        named[device] = True
        slow[:, device] = _slow_kinds(p[:, device], rate * count / judged)
    return named, slow


def _simes(p: Floats, count: int) -> float:
    known = np.sort(p[np.isfinite(p)])
    return float(np.min(known * count / np.arange(1, len(known) + 1)))


def _slow_kinds(p: Floats, rate: float) -> Flags:
    slow = np.isfinite(p)
    slow[slow] = corrected(p[slow]) <= rate
    return slow


def _upper_tail(distances: Floats, degrees: float) -> Floats:
    """The upper tail of Student's distribution; 1 where it decides nothing.

    By Wallace's transformation to a normal distance (1959), which is right to three digits from three degrees on.
    """
    tail = np.ones(len(distances))
    far = distances > _LEAST_DISTANCE
    normal = np.sqrt(degrees * np.log1p(distances[far] ** 2 / degrees)) * (8 * degrees + 1) / (8 * degrees + 3)
    tail[far] = [math.erfc(distance / math.sqrt(2)) / 2 for distance in normal]
    return tail


@dataclass(frozen=True)
class Group:
    """Devices of one kind, by their places in the fleet; what they have in common, as far as it is known.

    `device` says through which interface, too, where the same device was measured through several.
    """

    device: str
    link: str
    cpu: str
    members: tuple[int, ...]

    @property
    def name(self) -> str:
        """What the devices have in common: ``NVIDIA H200, PCIe 5.0 x16, AMD EPYC 9654``."""
        return ", ".join(filter(None, (self.device, self.link, self.cpu)))


def through(backend: str, device: str) -> str:
    """A device with the interface that it was measured through."""
    return f"{device} ({_INTERFACES.get(backend, backend)})"


def groups_of(devices: Sequence[DeviceRow]) -> list[Group]:
    """The groups, the largest first; every device is in exactly one."""
    kinds: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, device in enumerate(devices):
        kinds[device.fact("backend"), device.fact("device")].append(place)
    groups = []
    interfaces = Counter(name for _, name in kinds)
    for (backend, known), members in kinds.items():
        name = through(backend, known) if interfaces[known] > 1 else known
        machines = [(devices[place].fact("link"), devices[place].fact("cpu")) for place in members]
        counted = Counter(machines)
        usual = counted.most_common(1)[0][0]
        own = {
            machine
            for machine, count in counted.items()
            if machine == usual or (count >= _MANY and count >= _SHARE * len(members))
        }
        inside: dict[tuple[str, str], list[int]] = defaultdict(list)
        for place, machine in zip(members, machines, strict=True):
            inside[machine if machine in own else usual].append(place)
        groups += [Group(name, *machine, tuple(places)) for machine, places in inside.items()]
    return sorted(groups, key=lambda group: -len(group.members))
