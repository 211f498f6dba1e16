"""How a copy would be made, and why, for people to read."""

from collections.abc import Mapping
from dataclasses import dataclass

from isthmus.record import format_bytes, format_rate, format_seconds


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
