"""Made-up devices and hosts for commands that only speak about them."""

import pytest

from isthmus.record import GIB, Cpu, Device, Host, Link, Memory, NumaNode


@pytest.fixture
def h200() -> Device:
    """A GPU on the second socket, its link at its best."""
    return Device(
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


@pytest.fixture
def node() -> Host:
    """Two sockets and a node of memory only, with settings that cost transfers nothing."""
    return Host(
        name="node07",
        kernel="6.8.0",
        distribution="Ubuntu 24.04.1 LTS",
        cpu=Cpu(
            model="Intel(R) Xeon(R) Platinum 8480+",
            architecture="x86_64",
            sockets=2,
            logical=8,
            allowed=8,
            last_level_cache_bytes=110100480,
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
            huge_page_bytes=2 << 20,
        ),
        iommu="on, passthrough (iommu=pt)",
    )
