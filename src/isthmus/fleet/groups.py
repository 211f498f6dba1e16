"""Which devices of a fleet are alike, so that each is held against others of its kind."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.fleet.reading import DeviceRow

# Among fewer devices it cannot be known which one is slow.
LEAST_ALIKE = 3
# A link or a processor that so many devices of a kind have, and so large a share of them, is another kind of machine;
# rarer ones are what went wrong with some.
_MANY, _SHARE = 16, 0.2
_INTERFACES = {"cuda": "CUDA", "opencl": "OpenCL"}


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
