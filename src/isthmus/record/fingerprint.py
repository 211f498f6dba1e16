"""Where a run was measured: everything about device, host and limits that can explain a figure. Plain data."""

from typing import Annotated

import msgspec

# As the driver has them.
_Reading = Annotated[int, msgspec.Meta(ge=0, le=(1 << 32) - 1)]


class Link(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A PCI Express link; generations are 1 to 7, widths are lanes; None is "could not be read"."""

    generation: _Reading | None = None
    width: _Reading | None = None
    max_generation: _Reading | None = None
    max_width: _Reading | None = None
    generation_under_load: _Reading | None = None
    width_under_load: _Reading | None = None
    # Packets that were sent again since the driver was loaded.
    replays: _Reading | None = None
    source: str = ""

    @property
    def in_use(self) -> tuple[int | None, int | None]:
        """Generation and width, those under load where they were read: idle links train down."""
        return self.generation_under_load or self.generation, self.width_under_load or self.width

    @property
    def read_under_load(self) -> bool:
        """Whether it was."""
        return self.generation_under_load is not None or self.width_under_load is not None

    @property
    def is_slower(self) -> bool:
        """Whether its generation is known to be below what it can be."""
        return (self.in_use[0] or 99) < (self.max_generation or 0)

    @property
    def is_narrower(self) -> bool:
        """Whether its width is known to be below what it can be."""
        return (self.in_use[1] or 99) < (self.max_width or 0)

    @property
    def theoretical_bytes_per_second(self) -> float | None:
        """Rate of the wire one way, after line coding and before packet headers; of the link under load if known."""
        generation, width = self.in_use
        if generation is None or width is None or generation not in _BYTES_PER_SECOND_PER_LANE:
            return None
        return _BYTES_PER_SECOND_PER_LANE[generation] * width


# Transfers per second times the share that line coding leaves: 8b/10b, 128b/130b, 242 of 256 bytes of a flit.
_BYTES_PER_SECOND_PER_LANE = {
    1: 2.5e9 * 8 / 10 / 8,
    2: 5e9 * 8 / 10 / 8,
    3: 8e9 * 128 / 130 / 8,
    4: 16e9 * 128 / 130 / 8,
    5: 32e9 * 128 / 130 / 8,
    6: 64e9 * 242 / 256 / 8,
    7: 128e9 * 242 / 256 / 8,
}


class Device(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One device as its backend describes it; `spec` is what `--device` takes, such as ``cuda:0``.

    `index` is -1 where only the address is known, as logs of the kernel say it.
    """

    backend: str
    index: int
    name: str
    vendor: str = ""
    driver_version: str = ""
    api_version: str = ""
    compute_capability: str = ""
    uuid: str = ""
    pci_address: str = ""
    memory_bytes: int = 0
    numa_node: int | None = None
    shares_host_memory: bool = False
    copy_engines: int | None = None
    link: Link | None = None
    # Readings that exist on some devices only: clocks, temperature, throttle reasons, confidential mode, MIG.
    conditions: dict[str, str] = {}

    @property
    def spec(self) -> str:
        """The name that `--device` takes; the address where no number is known."""
        if self.index < 0 and self.pci_address:
            return self.pci_address
        return self.backend if self.backend == "host" else f"{self.backend}:{self.index}"

    @property
    def crosses_link(self) -> bool:
        """Whether copies leave the host's memory, so that there is a link to speak of."""
        return not self.shares_host_memory and self.backend != "host"

    @property
    def is_confidential(self) -> bool:
        """Whether its driver encrypts every copy."""
        return self.conditions.get("confidential_computing") == "on"


class Backend(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One backend of this process: its devices, or why it has none and what would give it one."""

    name: str
    devices: list[Device] = []
    library: str = ""
    looked_for: list[str] = []
    absent_because: str = ""
    install: str = ""


class Cpu(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The host's processors; `allowed` are those that this process may run on."""

    model: str = ""
    architecture: str = ""
    sockets: int | None = None
    logical: int = 0
    allowed: int = 0
    last_level_cache_bytes: int | None = None
    hypervisor: bool | None = None


class NumaNode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One NUMA node; `cpus` in the kernel's list form (``0-7,16``), empty for a node of memory only."""

    id: int
    cpus: str = ""
    memory_bytes: int = 0


class Memory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The host's memory and how it is paged; bytes.

    `registered_bytes` are user pages that drivers have pinned, of all processes, where the kernel counts them; what
    drivers allocate pinned is missing from `available_bytes` instead.
    """

    total_bytes: int = 0
    available_bytes: int = 0
    registered_bytes: int | None = None
    page_bytes: int = 4096
    transparent_huge_pages: str = ""
    transparent_huge_page_defrag: str = ""
    huge_page_bytes: int = 0
    reserved_huge_pages: int = 0


class Limits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the process is allowed; None is "no limit" (for `locked_memory_bytes` and those of the container)."""

    locked_memory_bytes: int | None = None
    address_space_bytes: int | None = None
    container_memory_bytes: int | None = None
    container_cpus: float | None = None
    container_processes: int | None = None
    container: str = ""


class Host(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The machine around the device."""

    name: str = ""
    kernel: str = ""
    distribution: str = ""
    cpu: Cpu = Cpu()
    numa_nodes: list[NumaNode] = []
    memory: Memory = Memory()
    limits: Limits = Limits()
    iommu: str = ""
    confidential: str = ""


class Placement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the run's threads and pages were put, and where the kernel says that they are."""

    bound_node: Annotated[int, msgspec.Meta(ge=0, le=(1 << 31) - 1)] | None = None
    cpus: str = ""
    # Memory kind -> share of the sampled pages that lie on each node, such as {"pageable": {"0": 1.0}}.
    pages: dict[str, dict[str, float]] = {}
    note: str = ""


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Device, host and versions of one run."""

    isthmus_version: str
    python_version: str = ""
    device: Device
    host: Host = Host()
