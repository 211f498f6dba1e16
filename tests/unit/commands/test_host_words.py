"""What `isthmus devices` says about the host, and that it warns exactly where a setting costs something."""

import pytest
from msgspec.structs import replace

from isthmus.commands._host_words import host_block
from isthmus.document.document import Machine
from isthmus.record import GIB, MIB, Host, Limits, Memory, NumaNode


def _remarks(block: Machine) -> list[str]:
    return [fact.value for fact in block.facts if fact.is_remark]


def _commands(block: Machine) -> list[str]:
    return [command for fact in block.facts for command in fact.commands]


def _rows(block: Machine) -> dict[str, str]:
    """Label -> all text below it."""
    texts: dict[str, str] = {}
    label = ""
    for row in block.facts:
        label = row.name or label
        texts[label] = f"{texts.get(label, '')} {row.value}".strip()
    return texts


def test_a_host_in_order_gets_no_remark(node: Host) -> None:
    block = host_block(node, has_own_memory=True)
    assert _remarks(block) == []
    assert block.title == "This host  node07"
    rows = _rows(block)
    assert rows["system"] == "Ubuntu 24.04.1 LTS, Linux 6.8.0, x86_64"
    assert rows["CPU"] == ("2 x Intel(R) Xeon(R) Platinum 8480+ 8 logical CPUs, all allowed; last-level cache 105 MiB")
    assert rows["NUMA"] == ("node 0: CPUs 0-3, 256 GiB node 1: CPUs 4-7, 256 GiB node 2: memory only, no CPUs, 64 GiB")
    assert rows["memory"] == "576 GiB, 500 GiB available"
    assert rows["pages"].startswith("4 KiB; huge pages 2 MiB, none reserved")
    assert rows["locked memory"] == "no limit for this process"
    assert rows["container"] == "none seen, no limits"
    assert rows["IOMMU"] == "on, passthrough (iommu=pt)"


def test_a_host_that_tells_nothing_is_still_described() -> None:
    rows = _rows(host_block(Host(), has_own_memory=True))
    assert rows["memory"] == "not readable"
    assert rows["NUMA"] == "not shown by this kernel; taken as one node"
    assert "model not readable" in rows["CPU"]


def test_huge_pages_that_are_forbidden_get_the_command_that_allows_them(node: Host) -> None:
    host = replace(node, memory=replace(node.memory, transparent_huge_pages="never"))
    block = host_block(host, has_own_memory=False)
    assert len(_remarks(block)) == 1
    assert _commands(block) == ["echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"]


@pytest.mark.parametrize(("defrag", "remarks"), [("never", 1), ("madvise", 0), ("always", 0), ("", 0)])
def test_defragmentation_matters_only_when_forbidden(node: Host, defrag: str, remarks: int) -> None:
    host = replace(node, memory=replace(node.memory, transparent_huge_page_defrag=defrag))
    assert len(_remarks(host_block(host, has_own_memory=False))) == remarks


@pytest.mark.parametrize(("limit", "remarks"), [(8 * MIB, 1), (2 * GIB, 0), (None, 0)])
def test_a_small_lock_limit_gets_its_cure(node: Host, limit: int | None, remarks: int) -> None:
    host = replace(node, limits=Limits(locked_memory_bytes=limit))
    block = host_block(host, has_own_memory=True)
    assert len(_remarks(block)) == remarks
    assert _commands(block) == ["ulimit -l unlimited"] * remarks


@pytest.mark.parametrize(
    ("container", "cure"), [("docker", "--ulimit memlock=-1"), ("slurm job", "slurmd"), ("", "limits.conf")]
)
def test_the_cure_of_the_lock_limit_is_that_of_whoever_set_it(node: Host, container: str, cure: str) -> None:
    host = replace(node, limits=Limits(locked_memory_bytes=8 * MIB, container=container))
    assert cure in _remarks(host_block(host, has_own_memory=True))[0]


def test_limited_addresses_keep_cuda_from_starting(node: Host) -> None:
    block = host_block(replace(node, limits=Limits(address_space_bytes=64 * GIB)), has_own_memory=True)
    assert _commands(block) == ["ulimit -v unlimited"]


def test_limits_of_a_container_that_bind(node: Host) -> None:
    limits = Limits(container="docker", container_memory_bytes=32 * GIB, container_cpus=4.0, container_processes=128)
    block = host_block(replace(node, limits=limits), has_own_memory=True)
    assert _rows(block)["container"].startswith("docker: 32 GiB of memory, 4 CPUs' time, 128 processes and threads")
    memory, quota, processes = _remarks(block)
    assert "32 GiB" in memory
    assert "8 CPUs" in quota
    assert "256" in processes


def test_limits_of_a_container_that_do_not_bind(node: Host) -> None:
    limits = Limits(container_memory_bytes=900 * GIB, container_cpus=8.0, container_processes=32768)
    block = host_block(replace(node, limits=limits), has_own_memory=True)
    assert _rows(block)["container"].startswith("a control group: 900 GiB")
    assert _remarks(block) == []


@pytest.mark.parametrize(("has_own_memory", "remarks"), [(True, 2), (False, 0)])
def test_iommu_and_encryption_matter_only_to_devices_behind_a_link(
    node: Host, has_own_memory: bool, remarks: int
) -> None:
    host = replace(node, iommu="on, translated", confidential="TDX guest")
    block = host_block(host, has_own_memory=has_own_memory)
    assert len(_remarks(block)) == remarks
    assert _rows(block)["confidential"].startswith("TDX guest")


def test_the_memory_of_a_sole_node_is_left_to_the_host(node: Host) -> None:
    # A virtual machine with lazily prepared memory shows 5 of its 125 GiB in the node's file.
    host = replace(
        node, numa_nodes=[NumaNode(id=0, cpus="0-7", memory_bytes=5 * GIB)], memory=Memory(total_bytes=125 * GIB)
    )
    assert _rows(host_block(host, has_own_memory=False))["NUMA"] == "one node: CPUs 0-7"
