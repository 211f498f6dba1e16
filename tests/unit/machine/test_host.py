"""Fingerprints of whole made-up machines, and of machines that tell nothing or nonsense."""

import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.machine.host import available_memory_bytes, read_host
from isthmus.record import GIB, KIB, MIB, Host, Limits, Memory, NumaNode

Tree = Callable[[dict[str, str]], Path]
_THP = "sys/kernel/mm/transparent_hugepage"
_NODES = "sys/devices/system/node"


@pytest.fixture(autouse=True)
def process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process on two CPUs with the limits of a login shell, outside of any cluster."""
    soft = {resource.RLIMIT_MEMLOCK: 8 * MIB, resource.RLIMIT_AS: resource.RLIM_INFINITY}
    monkeypatch.setattr("resource.getrlimit", lambda which: (soft[which], resource.RLIM_INFINITY))
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1})
    for name in ("KUBERNETES_SERVICE_HOST", "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)


def _dual_socket() -> dict[str, str]:
    return {
        "proc/sys/kernel/hostname": "node07\n",
        "proc/sys/kernel/osrelease": "6.8.0-45-generic\n",
        "proc/cpuinfo": "processor\t: 0\nmodel name\t: Xeon\nflags\t: fpu lm sev_snp\n",
        "proc/cmdline": "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet\n",
        "proc/meminfo": "MemTotal:  1056000000 kB\nMemAvailable: 1000000000 kB\nHugepagesize: 1048576 kB\n",
        "proc/self/status": "Name:\tpython\nCapEff:\t0000000000000000\n",
        "proc/self/uid_map": "         0          0 4294967295\n",
        "etc/os-release": 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 24.04.1 LTS"\n',
        f"{_THP}/enabled": "always [madvise] never\n",
        f"{_THP}/defrag": "always defer defer+madvise [madvise] never\n",
        f"{_THP}/hpage_pmd_size": "2097152\n",
        "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "512\n",
        "sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages": "3\n",
        "sys/devices/system/cpu/online": "0-3\n",
        f"{_NODES}/node0/cpulist": "0-1\n",
        f"{_NODES}/node0/meminfo": "Node 0 MemTotal: 500000000 kB\n",
        f"{_NODES}/node1/cpulist": "2-3\n",
        f"{_NODES}/node1/meminfo": "Node 1 MemTotal: 500000000 kB\n",
        f"{_NODES}/node2/cpulist": "\n",
        f"{_NODES}/node2/meminfo": "Node 2 MemTotal: 56000000 kB\n",
        "sys/class/iommu/dmar0/uevent": "",
        "sys/kernel/iommu_groups/0/type": "DMA-FQ\n",
        "sys/kernel/iommu_groups/1/type": "identity\n",
    }


def test_bare_metal_with_two_sockets_and_a_node_of_memory_only(tree: Tree) -> None:
    host = read_host(tree(_dual_socket()))
    assert (host.name, host.kernel, host.distribution) == ("node07", "6.8.0-45-generic", "Ubuntu 24.04.1 LTS")
    assert host.cpu.architecture == os.uname().machine
    assert (host.cpu.logical, host.cpu.allowed) == (4, 2)
    assert [node.cpus for node in host.numa_nodes] == ["0-1", "2-3", ""]
    assert host.numa_nodes[2] == NumaNode(id=2, memory_bytes=56000000 * KIB)
    assert host.memory.total_bytes == 1056000000 * KIB
    assert host.memory.available_bytes == 1000000000 * KIB
    assert host.memory.page_bytes == resource.getpagesize()
    assert (host.memory.transparent_huge_pages, host.memory.transparent_huge_page_defrag) == ("madvise", "madvise")
    assert (host.limits.locked_memory_bytes, host.limits.address_space_bytes) == (8 * MIB, None)
    assert host.limits.container == ""
    assert host.iommu == "on, translated"
    # The processor could run such guests; this is not one.
    assert host.confidential == ""


def test_huge_pages_are_those_that_transparent_pages_use(tree: Tree) -> None:
    memory = read_host(tree(_dual_socket())).memory
    assert (memory.huge_page_bytes, memory.reserved_huge_pages) == (2 * MIB, 512)


def test_a_kernel_without_transparent_pages_tells_its_default_size(tree: Tree) -> None:
    files = {name: text for name, text in _dual_socket().items() if not name.startswith(_THP)}
    memory = read_host(tree(files)).memory
    assert (memory.huge_page_bytes, memory.reserved_huge_pages) == (GIB, 3)
    assert memory.transparent_huge_pages == ""


def test_limits_of_a_container_are_taken_in(tree: Tree) -> None:
    host = read_host(
        tree(
            {
                ".dockerenv": "",
                "proc/self/cgroup": "0::/\n",
                "proc/self/mountinfo": "31 23 0:28 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
                "sys/fs/cgroup/memory.max": f"{8 * GIB}\n",
                "sys/fs/cgroup/cpu.max": "400000 100000\n",
                "sys/fs/cgroup/pids.max": "128\n",
            }
        )
    )
    limits = host.limits
    assert (limits.container, limits.container_memory_bytes) == ("docker", 8 * GIB)
    assert (limits.container_cpus, limits.container_processes) == (4.0, 128)


@pytest.mark.parametrize(
    ("capabilities", "uid_map", "limit"),
    [
        ("0000000000004000", "0 0 4294967295", None),
        ("000001fffeffffff", "0 0 4294967295", None),
        ("00000000a80425fb", "0 0 4294967295", 8 * MIB),
        # Root of a rootless container holds every capability, but not where the kernel asks for this one.
        ("000001ffffffffff", "0 1000 1", 8 * MIB),
        ("", "0 0 4294967295", 8 * MIB),
        ("xyz", "", 8 * MIB),
    ],
)
def test_the_lock_limit_does_not_bind_who_may_lock(
    tree: Tree, capabilities: str, uid_map: str, limit: int | None
) -> None:
    root = tree({"proc/self/status": f"CapEff:\t{capabilities}\n", "proc/self/uid_map": f"{uid_map}\n"})
    assert read_host(root).limits.locked_memory_bytes == limit


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "cannot be read"),
        ({"sys/class/iommu/": ""}, "none seen by this kernel"),
        ({"sys/class/iommu/ivhd0/uevent": "", "proc/cmdline": "ro iommu=pt quiet"}, "on, passthrough (iommu=pt)"),
        ({"sys/kernel/iommu_groups/0/type": "identity"}, "on, passthrough"),
        ({"sys/kernel/iommu_groups/0/type": "DMA"}, "on, translated"),
        ({"sys/class/iommu/smmu3.0/uevent": ""}, "on, mode cannot be read"),
        ({"sys/kernel/iommu_groups/0/type": "DMA", "proc/cmdline": "no_iommu=ptx iommu=ptx"}, "on, translated"),
    ],
)
def test_the_iommu_in_words(tree: Tree, files: dict[str, str], words: str) -> None:
    root = tree({name: text for name, text in files.items() if not name.endswith("/")})
    for name in files:
        if name.endswith("/"):
            (root / name).mkdir(parents=True)
    assert read_host(root).iommu == words


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"dev/sev-guest": ""}, "SEV-SNP guest"),
        ({"proc/cpuinfo": "flags\t: fpu hypervisor sev_snp\n"}, "SEV-SNP guest"),
        ({"proc/cpuinfo": "flags\t: fpu hypervisor tdx_guest\n"}, "TDX guest"),
        ({"dev/tdx_guest": ""}, "TDX guest"),
        ({"proc/cpuinfo": "flags\t: fpu hypervisor\n"}, ""),
    ],
)
def test_confidential_guests(tree: Tree, files: dict[str, str], words: str) -> None:
    assert read_host(tree(files)).confidential == words


def _told(host: Host) -> list[object]:
    """Everything that comes out of files alone."""
    memory = host.memory
    sizes = [memory.total_bytes, memory.available_bytes, memory.huge_page_bytes, memory.reserved_huge_pages]
    words = [host.distribution, host.cpu.model, memory.transparent_huge_pages, memory.transparent_huge_page_defrag]
    return [*sizes, *words, host.cpu.logical, host.cpu.sockets, host.cpu.last_level_cache_bytes, host.confidential]


_NOTHING: list[object] = [0, 0, 0, 0, "", "", "", "", 0, None, None, ""]


def test_an_empty_root_tells_nothing_and_raises_nothing(tmp_path: Path) -> None:
    host = read_host(tmp_path)
    assert _told(host) == _NOTHING
    assert host.numa_nodes == []
    assert (host.name, host.kernel) == (os.uname().nodename, os.uname().release)


def test_unreadable_files_tell_nothing(tree: Tree, unreadable: Callable[[Path], None]) -> None:
    root = tree(_dual_socket() | {".dockerenv": "", "dev/sev-guest": ""})
    unreadable(root)
    host = read_host(root)
    assert _told(host) == _NOTHING
    assert (host.numa_nodes, host.iommu, host.limits.container) == ([], "cannot be read", "")


@pytest.mark.parametrize(
    "content", ["", "\n", "\0", ":::\n=\n", "[", "-1", "99999999999999999999999 kB", "MemTotal: many"]
)
def test_empty_files_and_garbage_tell_nothing(tree: Tree, content: str) -> None:
    assert _told(read_host(tree(dict.fromkeys(_dual_socket(), content)))) == _NOTHING


def test_directories_in_the_place_of_files_tell_nothing(tmp_path: Path) -> None:
    for name in _dual_socket():
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    assert _told(read_host(tmp_path)) == _NOTHING


def test_bytes_that_are_no_text_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_bytes(b"\xff\xfe: \xff\nMemTotal: 2 kB\n")
    assert read_host(tmp_path).memory.total_bytes == 2 * KIB


def test_this_machine() -> None:
    host = read_host()
    assert host.cpu.logical >= host.cpu.allowed >= 1
    assert host.memory.total_bytes >= host.memory.available_bytes > 0


def test_what_may_still_be_taken_is_bounded_by_the_container_and_what_it_uses(tree: Tree) -> None:
    root = tree(
        {
            "proc/self/cgroup": "0::/job/step\n",
            "proc/self/mountinfo": "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
            "sys/fs/cgroup/job/memory.max": f"{8 * GIB}\n",
            "sys/fs/cgroup/job/memory.current": f"{3 * GIB}\n",
            "sys/fs/cgroup/job/step/memory.max": "max\n",
            "sys/fs/cgroup/job/step/memory.current": f"{1 * GIB}\n",
        }
    )
    memory = Memory(available_bytes=100 * GIB)
    assert available_memory_bytes(Host(memory=memory), root) == 100 * GIB
    confined = Host(memory=memory, limits=Limits(container_memory_bytes=8 * GIB))
    assert available_memory_bytes(confined, root) == 5 * GIB
    full = Host(memory=memory, limits=Limits(container_memory_bytes=2 * GIB))
    assert available_memory_bytes(full, root) == 0


@pytest.mark.parametrize(
    ("counts", "pages"),
    [
        ("nr_foll_pin_acquired 700\nnr_foll_pin_released 200\n", 500),
        ("nr_foll_pin_acquired 3\nnr_foll_pin_released 4\n", 0),  # read while one was let go
        ("nr_free_pages 7\n", None),
        ("nr_foll_pin_acquired ?\nnr_foll_pin_released 1\n", None),
        ("", None),
    ],
)
def test_what_drivers_have_registered_is_what_the_kernel_counts(tmp_path: Path, counts: str, pages: int | None) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/vmstat").write_text(counts, "utf-8")
    expected = None if pages is None else pages * resource.getpagesize()
    assert read_host(tmp_path).memory.registered_bytes == expected
