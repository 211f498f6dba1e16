"""What `isthmus devices` says of hosts and devices: what is known of them, and which settings cost something."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from isthmus.commands._machine_words import absent_block, device_block, host_block
from isthmus.document.document import Document, Machine, Machines
from isthmus.record import GIB, MIB, Backend, Cpu, Device, Host, Limits, Link, Memory, NumaNode
from tests.snapshots.documents import on_terminal

# Two sockets and a node of memory only, with settings that cost transfers nothing.
NODE = Host(
    name="node07",
    kernel="6.8.0",
    distribution="Ubuntu 24.04.1 LTS",
    cpu=Cpu(
        model="Intel(R) Xeon(R) Platinum 8480+",
        architecture="x86_64",
        sockets=2,
        logical=8,
        allowed=8,
        last_level_cache_bytes=105 * MIB,
        hypervisor=False,
    ),
    numa_nodes=[
        NumaNode(id=0, cpus="0-3", memory_bytes=256 * GIB),
        NumaNode(id=1, cpus="4-7", memory_bytes=256 * GIB),
        NumaNode(id=2, memory_bytes=64 * GIB),
    ],
    memory=Memory(
        total_bytes=576 * GIB,
        available_bytes=500 * GIB,
        transparent_huge_pages="madvise",
        transparent_huge_page_defrag="madvise",
        huge_page_bytes=2 * MIB,
    ),
    iommu="on, passthrough (iommu=pt)",
)
# On the second socket, its link at its best.
H200 = Device(
    backend="cuda",
    index=0,
    name="NVIDIA H200",
    driver_version="580.159.03",
    api_version="13.0",
    compute_capability="9.0",
    pci_address="0000:3b:00.0",
    memory_bytes=150754820096,
    numa_node=1,
    copy_engines=3,
    link=Link(generation=5, width=16, max_generation=5, max_width=16),
    conditions={"temperature": "34 C"},
)
POCL = Device(backend="opencl", index=0, name="PoCL", memory_bytes=16 * GIB, shares_host_memory=True)
CUDA = Backend(name="cuda", library="libcuda.so.1")


def host(*, has_own_memory: bool = True, memory: Mapping[str, Any] | None = None, **changes: Any) -> Machine:
    changed = replace(NODE, memory=replace(NODE.memory, **memory or {}), **changes)
    return host_block(changed, has_own_memory=has_own_memory)


def limits(**changes: Any) -> Machine:
    return host(limits=Limits(**changes))


def device(allowed: Collection[int] = range(8), of: Host = NODE, **changes: Any) -> Machine:
    return device_block(replace(H200, **changes), CUDA, of, allowed)


def link(**changes: Any) -> Machine:
    return device(link=Link(**changes))


MACHINES: Mapping[str, Callable[[], Machine]] = {
    "host": host,
    "host-unknown": lambda: host_block(Host(), has_own_memory=True),
    "host-sole-node": lambda: host(
        # A virtual machine with lazily prepared memory shows 5 of its 125 GiB in the node's file.
        numa_nodes=[NumaNode(id=0, cpus="0-7", memory_bytes=5 * GIB)],
        memory={"total_bytes": 125 * GIB},
    ),
    "host-no-huge-pages": lambda: host(memory={"transparent_huge_pages": "never"}),
    "host-no-defrag": lambda: host(memory={"transparent_huge_page_defrag": "never"}),
    "host-always-defrag": lambda: host(memory={"transparent_huge_page_defrag": "always"}),
    "host-locks-little": lambda: limits(locked_memory_bytes=8 * MIB),
    "host-locks-enough": lambda: limits(locked_memory_bytes=2 * GIB),
    "host-locks-little-docker": lambda: limits(locked_memory_bytes=8 * MIB, container="docker"),
    "host-locks-little-slurm": lambda: limits(locked_memory_bytes=8 * MIB, container="slurm job"),
    "host-few-addresses": lambda: limits(address_space_bytes=64 * GIB),
    "host-container-binds": lambda: limits(
        container="docker", container_memory_bytes=32 * GIB, container_cpus=4.0, container_processes=128
    ),
    "host-container-is-wide": lambda: limits(
        container_memory_bytes=900 * GIB, container_cpus=8.0, container_processes=32768
    ),
    "host-encrypted": lambda: host(iommu="on, translated", confidential="TDX guest"),
    "host-encrypted-no-link": lambda: host(iommu="on, translated", confidential="TDX guest", has_own_memory=False),
    "device": device,
    "device-opencl": lambda: device(backend="opencl", api_version="OpenCL 3.0 CUDA 13.0.97", compute_capability=""),
    "device-in-host-memory": lambda: device_block(POCL, Backend(name="opencl"), NODE, range(8)),
    "device-one-engine": lambda: device(copy_engines=1),
    "device-idle": lambda: link(generation=1, width=16, max_generation=5, max_width=16),
    "device-slow-under-load": lambda: link(
        generation=1, width=16, max_generation=5, max_width=16, generation_under_load=4, width_under_load=16
    ),
    "device-fast-under-load": lambda: link(
        generation=1, width=16, max_generation=5, max_width=16, generation_under_load=5, width_under_load=16
    ),
    "device-few-lanes": lambda: link(generation=5, width=8, max_generation=5, max_width=16),
    "device-link-now": lambda: link(generation=5),
    "device-link-at-most": lambda: link(max_generation=5, max_width=16),
    "device-link-width": lambda: link(width=16, max_width=16),
    "device-no-link": lambda: device(link=None),
    "device-far-cpus": lambda: device(allowed={0, 1, 2}),
    "device-one-near-cpu": lambda: device(allowed={0, 7}),
    "device-unknown-node": lambda: device(numa_node=None),
    "device-sole-node": lambda: device(of=replace(NODE, numa_nodes=[NumaNode(id=0, cpus="0-7")]), numa_node=None),
    "device-node-without-cpus": lambda: device(numa_node=2),
    "absent": lambda: absent_block(
        Backend(
            name="cuda",
            looked_for=["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"],
            absent_because="no such file",
            install="NVIDIA's driver, R525 or newer",
        )
    ),
}


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine(name: str, text_file: SnapshotAssertion) -> None:
    assert on_terminal(Document("devices", "", (Machines((MACHINES[name](),)),))) == text_file
