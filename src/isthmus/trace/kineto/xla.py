"""What traces of XLA's profiler, which JAX and TensorFlow write, say by other words in the same format.

Their events have no category: what a device did is in a process of that name, a stream a thread, and details of a copy
are a text, ``kind_src:pinned kind_dst:device size:16777216 dest:0 async:1``; TensorFlow 2.3 to 2.5 named one kind, the
host's: ``kind:pageable``. Before a process may be the machine's name: ``worker-0 /device:GPU:0``.
"""

import re
from typing import NamedTuple

from isthmus.trace.columns import UNKNOWN, direction_index, memory_index
from isthmus.trace.kineto.event import Event

_DEVICE = re.compile(r"(?:\S+ )?/device:\w+:(\d+)")
_HOST = re.compile(r"(?:\S+ )?/host:CPU")
_DETAIL = re.compile(r"(\w+):(\S+)")
_MEMORY = {kind: memory_index(kind) for kind in ("pageable", "pinned", "device", "managed")}
_HOST_SIDE = {direction_index("h2d"): "kind_src", direction_index("d2h"): "kind_dst"}
_MOST_DEVICES = 1000


class Details(NamedTuple):
    """What is known of a copy; UNKNOWN where it is not."""

    bytes: int
    source: int
    destination: int


class XlaProcesses:
    """Which processes of a trace are devices of XLA, and which is its host's."""

    def __init__(self) -> None:
        self.devices: dict[int, int] = {}
        self.hosts: set[int] = set()

    def add(self, pid: int, name: str) -> None:
        """Keep what the name of a process says, if anything."""
        if _HOST.fullmatch(name):
            self.hosts.add(pid)
        elif (match := _DEVICE.fullmatch(name)) and len(self.devices) < _MOST_DEVICES and len(match[1]) < 10:
            self.devices[pid] = int(match[1])


def details_of(event: Event, direction: int) -> Details | None:
    """The details of a copy of this direction; None where the event is none."""
    text = event.arguments.memcpy_details
    if not isinstance(text, str):
        return None
    values = dict(_DETAIL.findall(text))
    size = values.get("size", "")
    count = int(size) if size.isascii() and size.isdecimal() and len(size) < 20 else UNKNOWN
    # A single kind is that of the host's memory.
    if "kind" in values and direction in _HOST_SIDE:
        values.setdefault(_HOST_SIDE[direction], values["kind"])
    return Details(count, *(_MEMORY.get(values.get(key, ""), UNKNOWN) for key in ("kind_src", "kind_dst")))
