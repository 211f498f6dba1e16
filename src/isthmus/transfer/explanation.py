"""How a copy would be made, and why, for people to read."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from isthmus.errors import IsthmusError
from isthmus.machine.devices import choose_device
from isthmus.machine.host import read_host
from isthmus.record import Run, cached_run, format_bytes, format_rate, format_seconds


@dataclass(frozen=True)
class Explanation:
    """How a copy would be made. Sizes are bytes, times seconds.

    `method` is ``driver`` (its own copy of pageable memory), ``direct`` (page-locked, managed or registered memory,
    which the device reaches by itself), ``staged`` (threads pack into page-locked chunks that cross the link
    meanwhile), ``device`` (within one device), ``peer`` (between two), ``host`` (both sides are the host's, the
    calling thread copies), ``nothing`` (there is no byte to copy), or the name of a way to move pieces. `host_memory`
    is ``pageable``, ``pinned`` or ``managed``, and empty but between the host and a device. A contiguous copy is one
    piece. `chunk_bytes` and `threads` are 0 where the method has none; `kernel_blocks` are the blocks, of 1,024 threads
    each, that a kernel of the copy has of the device at most, and 0 without a kernel or a bound. `stores`
    (``ordinary``, ``streaming`` or ``demoted``) is empty where no threads pack, `seconds` is 0 where the table cannot
    say. `ways` are the devices over whose links a copy is divided, each with its expected share, the session's own
    first; empty where it goes by its own link alone. `device` is that of the session, and empty where there was nothing
    to choose one by.
    """

    device: str
    method: str
    direction: str
    host_memory: str
    bytes: int
    pieces: int
    width_bytes: int
    chunk_bytes: int
    threads: int
    kernel_blocks: int
    stores: str
    seconds: float
    why: str
    ways: Mapping[str, float]

    @property
    def neighbours(self) -> Mapping[str, float]:
        """What the copy costs concurrent work: the share by which its work takes longer, 0.1 for a tenth.

        By neighbour: ``compute`` (a kernel that computes), ``memory`` (kernels that read the device's memory) and
        ``thread`` (a thread of the host). From the runs of ``isthmus measure interference`` that are kept of this
        device, which are read when this is first asked for in a process. Empty where none is kept, or where they have
        nothing of this way to copy between the host and the device.
        """
        if self.direction not in ("h2d", "d2h") or (run := _kept(self.device)) is None:
            return {}
        # What reads runs takes longer to import than most copies take.
        from isthmus.plan import slowdowns

        return slowdowns(run, (self.direction,), self.method, self.kernel_blocks)

    def __str__(self) -> str:
        """Two lines: what is done, and why."""
        what = f"{self.direction} {format_bytes(self.bytes)}"
        if self.pieces > 1:
            what += f" in {self.pieces} pieces of {format_bytes(self.width_bytes)}"
        if self.host_memory:
            what += f", {self.host_memory} memory"
        how = self.method
        if self.chunk_bytes:
            how += f", chunks of {format_bytes(self.chunk_bytes)}"
        if self.threads:
            how += f", {self.threads} thread{'s' if self.threads > 1 else ''}"
        if self.kernel_blocks:
            how += f", kernel of {self.kernel_blocks} block{'s' if self.kernel_blocks > 1 else ''}"
        if self.stores:
            how += f", {self.stores} stores"
        if self.ways:
            how += ", over the links of " + ", ".join(f"{name} ({share:.0%})" for name, share in self.ways.items())
        if self.seconds > 0:
            how += f"; expected {format_seconds(self.seconds)} ({format_rate(self.bytes / self.seconds)})"
        return f"{what}: {how}\n{self.why}"


@cache
def _kept(device: str) -> Run | None:
    """All that was measured of the device on this machine and kept; None where nothing was, or it cannot be read."""
    try:
        return cached_run(read_host(), choose_device(device))
    except (IsthmusError, OSError):
        return None
