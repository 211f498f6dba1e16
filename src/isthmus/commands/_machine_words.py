"""Devices, absent backends and the host in plain words: what each is, what costs transfers speed, and the cure."""

import re
from collections.abc import Collection

import msgspec

from isthmus.document.document import Fact, Machine
from isthmus.machine.cpu import format_cpu_list, parse_cpu_list
from isthmus.record import GIB, KIB, MIB, Backend, Device, Host, Limits, Link, Memory, NumaNode, format_rate

# The default sweep goes up to 1 GiB, both ways at once.
_PINNED_BY_DEFAULT = 2 * GIB
# The widest case of the threads experiment, with room for interpreter and driver.
_PROCESSES_NEEDED = 256
_THP = "/sys/kernel/mm/transparent_hugepage"


def host_block(host: Host, *, has_own_memory: bool) -> Machine:
    """The host's block; `has_own_memory` tells whether a device here has memory that a link leads to."""
    block = Machine(f"This host  {host.name}".rstrip())
    system = (host.distribution, host.kernel and f"Linux {host.kernel}", host.cpu.architecture)
    block.add("system", ", ".join(filter(None, system)))
    _add_cpu(block, host)
    _add_memory(block, host.memory, host.limits)
    _add_limits(block, host.limits)
    _add_container(block, host)
    block.add("IOMMU", host.iommu)
    if has_own_memory and host.iommu == "on, translated":
        block.remark(
            "Every DMA address is translated: pinning and registering take longer, and copies between GPUs may go "
            "through the host. Where device isolation is not needed, boot with the kernel option iommu=pt."
        )
    block.add("confidential", host.confidential or "no sign of SEV-SNP or TDX")
    if has_own_memory and host.confidential:
        block.remark(
            "The host's memory is encrypted, so devices reach it only through shared bounce buffers: expect "
            "copies far below the link, and pinned memory hardly faster than pageable."
        )
    return block


def _add_cpu(block: Machine, host: Host) -> None:
    cpu = host.cpu
    sockets = f"{cpu.sockets} x " if cpu.sockets and cpu.sockets > 1 else ""
    cache = cpu.last_level_cache_bytes
    block.add("CPU", (sockets + cpu.model) or "model not readable")
    counts = f"{cpu.logical or 'unknown number of'} logical CPUs"
    counts += ", all allowed" if cpu.allowed == cpu.logical else f", {cpu.allowed} allowed to this process"
    block.add("", f"{counts}; last-level cache {near_size(cache) if cache else 'not shown'}")
    if cpu.hypervisor:
        block.add("", "virtual machine: nodes, caches and links are as the hypervisor shows them")
    # Grace Hopper lists placeholders for GPU partitions that have neither CPUs nor memory.
    nodes = [node for node in host.numa_nodes if node.cpus or node.memory_bytes]
    if not nodes:
        block.add("NUMA", "not shown by this kernel; taken as one node")
    elif len(nodes) == 1:
        # Its memory is the host's; virtual machines that set their memory up lazily tell a part of it here.
        block.add("NUMA", f"one node: CPUs {nodes[0].cpus}")
    else:
        for position, node in enumerate(nodes):
            place = f"CPUs {node.cpus}" if node.cpus else "memory only, no CPUs"
            block.add("" if position else "NUMA", f"node {node.id}: {place}, {near_size(node.memory_bytes)}")


def _add_memory(block: Machine, memory: Memory, limits: Limits) -> None:
    known = f"{near_size(memory.total_bytes)}, {near_size(memory.available_bytes)} available"
    block.add("memory", known if memory.total_bytes else "not readable")
    if memory.registered_bytes is not None:
        block.add("", f"{near_size(memory.registered_bytes)} of it registered with drivers now")
    allowed = limits.container_memory_bytes
    if memory.total_bytes and allowed is not None and allowed < memory.available_bytes:
        block.remark(
            f"The container allows {near_size(allowed)} in all: a process that goes beyond it is killed. "
            "Transfer buffers of every kind have to fit."
        )
    huge, reserved = memory.huge_page_bytes, memory.reserved_huge_pages or "none"
    sizes = f"{near_size(memory.page_bytes)}; huge pages {near_size(huge) if huge else 'none'}"
    block.add("pages", f"{sizes}, {reserved} reserved")
    setting, defrag = memory.transparent_huge_pages, memory.transparent_huge_page_defrag
    if not setting:
        block.add("", "transparent huge pages: setting not readable")
        return
    block.add("", f"transparent huge pages: {setting}, defrag {defrag or 'not readable'}")
    if setting == "never":
        block.remark(
            "pageable_huge cannot get huge pages, so its figures would be those of pageable. To allow them:",
            f"echo madvise | sudo tee {_THP}/enabled",
        )
    elif defrag == "never":
        block.remark(
            "pageable_huge gets huge pages only while whole ones lie free. To let the kernel make some on demand:",
            f"echo madvise | sudo tee {_THP}/defrag",
        )


def _add_limits(block: Machine, limits: Limits) -> None:
    locked = limits.locked_memory_bytes
    block.add("locked memory", "no limit for this process" if locked is None else f"at most {near_size(locked)}")
    if locked is not None and locked < _PINNED_BY_DEFAULT:
        elsewhere = _RAISE_ELSEWHERE.get(limits.container, _RAISE_AT_LOGIN)
        block.remark(
            "mlock, RDMA and drivers that keep to this limit cannot pin more; NVIDIA's driver does not keep to it. "
            f"To raise it in this shell (if that is refused, {elsewhere}):",
            "ulimit -l unlimited",
        )
    if limits.address_space_bytes is not None:
        block.add("address space", f"at most {near_size(limits.address_space_bytes)}")
        block.remark(
            "CUDA reserves addresses for all host and device memory when it starts, and fails if it may not. To lift:",
            "ulimit -v unlimited",
        )


_RAISE_AT_LOGIN = "with the line '* - memlock unlimited' in /etc/security/limits.conf"
_RAISE_ELSEWHERE = {
    **dict.fromkeys(("docker", "podman"), "start the container with --ulimit memlock=-1"),
    "kubernetes": "LimitMEMLOCK of the node's container runtime sets it",
    "slurm job": "LimitMEMLOCK of the node's slurmd sets it",
}


def _add_container(block: Machine, host: Host) -> None:
    limits = host.limits
    memory, cpus, processes = limits.container_memory_bytes, limits.container_cpus, limits.container_processes
    limited = [
        f"{near_size(memory)} of memory" if memory is not None else "",
        f"{cpus:g} CPUs' time" if cpus is not None else "",
        f"{processes} processes and threads" if processes is not None else "",
    ]
    within = ", ".join(filter(None, limited))
    seen = f"{limits.container or 'a control group'}: {within or 'no limits seen'}"
    block.add("container", seen if limits.container or within else "none seen, no limits")
    if cpus is not None and cpus < host.cpu.allowed:
        block.remark(
            f"The quota is less than the {host.cpu.allowed} CPUs that may be used: threads are halted for part of "
            "every period, which makes pageable and staged copies erratic. Whole CPUs (a cpuset) avoid that."
        )
    if processes is not None and processes < _PROCESSES_NEEDED:
        block.remark(f"Experiments with many threads need up to {_PROCESSES_NEEDED} and are cut short by this limit.")


def device_block(device: Device, backend: Backend, host: Host, allowed_cpus: Collection[int]) -> Machine:
    """One device: what it is, its link and its place, with a remark where something costs transfers their speed."""
    block = Machine(f"{device.spec}  {device.name}")
    if device.memory_bytes:
        shared = ", shared with the host: copies never cross a link" if device.shares_host_memory else ""
        block.add("memory", near_size(device.memory_bytes) + shared)
    capability = device.compute_capability and f"compute capability {device.compute_capability}"
    # What drivers report ranges from "580.159" and "13.0" to "OpenCL 3.0 CUDA 13.0.97".
    api = device.api_version
    if api and not re.search("[A-Za-z]", api):
        api = f"{_API_NAMES.get(device.backend, 'API')} {api}"
    block.add("driver", ", ".join(filter(None, (device.driver_version, api, capability, backend.library))))
    if device.backend == "opencl" and "/site-packages/" in backend.library:
        # No file of the system's names a driver that came in a package.
        block.add("elsewhere", f"other programs see it with OCL_ICD_VENDORS={backend.library}")
        block.add("", "(OCL_ICD_FILENAMES where the OpenCL loader is Khronos')")
    block.add("address", device.pci_address)
    if device.link is not None:
        link = device.link
        now, most = _pcie(link.generation, link.width), _pcie(link.max_generation, link.max_width)
        under_load = _pcie(link.generation_under_load, link.width_under_load)
        rows = [
            Fact("link", f"PCIe {now} now, {most} at most"),
            Fact("", f"PCIe {under_load} under load" if link.read_under_load else "not read under load"),
        ]
        best = link if link.read_under_load else _at_most(link)
        if (rate := best.theoretical_bytes_per_second) is not None:
            reached = _pcie(*best.in_use)
            rows.append(Fact("in theory", f"{format_rate(rate)} one way at {reached}, packet headers not deducted"))
        remark = _link_remark(link)
        block.facts += [*rows, Fact.remark(remark)] if remark else rows
    elif device.pci_address:
        block.add("link", "not shown by driver or kernel (a virtual machine or container may hide it)")
    if device.crosses_link:
        block.facts += _node_rows(device, host, allowed_cpus)
    if device.copy_engines is not None:
        block.add("copy engines", f"{device.copy_engines}{_ENGINES.get(device.copy_engines, '')}")
    for name, reading in device.conditions.items():
        block.add(name, reading)
    return block


_ENGINES = {0: " (copies do not overlap kernels)", 1: " (copies overlap kernels, but not each other)"}


def absent_block(backend: Backend) -> Machine:
    """A backend without devices: the reason, the files that were tried and what to install."""
    block = Machine(f"{backend.name}  not available")
    block.add("why", backend.absent_because or "it has no device")
    block.add("library", backend.library)
    block.add("looked for", ", ".join(backend.looked_for))
    block.add("to get it", backend.install)
    return block


_API_NAMES = {"cuda": "CUDA", "opencl": "OpenCL"}


def _pcie(generation: int | None, width: int | None) -> str:
    parts = [f"{generation}.0" if generation else "", f"x{width}" if width else ""]
    return " ".join(filter(None, parts)) or "unknown"


def _at_most(link: Link) -> Link:
    return msgspec.structs.replace(
        link, generation=link.max_generation or link.generation, width=link.max_width or link.width
    )


def _link_remark(link: Link) -> str:
    """Why the link is below what it can be, and the cure; empty where it is not."""
    if not link.is_slower and not link.is_narrower:
        return ""
    cure = "reseat the card, try another slot, and look for the slot's link speed and lane split in the BIOS"
    if link.read_under_load:
        return f"Under load the link stays below what it can do: {cure}."
    idle, still = "An idle link slows down to save power, as this one seems to", f"PCIe {link.generation}.0"
    if link.is_narrower:
        idle, still = "The link has fewer lanes than the device. Some narrow when idle", f"x{link.width}"
    return f"{idle}: isthmus measure reads it under load. If it is still {still} there, {cure}."


def _node_rows(device: Device, host: Host, allowed_cpus: Collection[int]) -> list[Fact]:
    with_cpus = [node for node in host.numa_nodes if node.cpus]
    node = next((node for node in host.numa_nodes if node.id == device.numa_node), None)
    if device.numa_node is None and len(with_cpus) > 1:
        return [
            Fact("NUMA node", "not told by firmware or hypervisor"),
            Fact.remark(
                f"The host has {len(with_cpus)} nodes and the far ones copy slower. To find the near one, compare:",
                *(_on_node(each, device) for each in with_cpus),
            ),
        ]
    if device.numa_node is None:
        return [Fact("NUMA node", "not told; all CPUs of this host are equally near")] if with_cpus else []
    if node is None or not node.cpus:
        return [Fact("NUMA node", f"{device.numa_node}, which has no CPUs that this kernel shows")]
    rows = [Fact("NUMA node", f"{node.id}, near CPUs {node.cpus}")]
    near_cpus = parse_cpu_list(node.cpus)
    if near_cpus and not near_cpus & set(allowed_cpus):
        rows.append(_wrong_node(device, node, allowed_cpus))
    return rows


def _on_node(node: NumaNode, device: Device) -> str:
    return f"numactl --cpunodebind={node.id} --membind={node.id} isthmus measure --device {device.spec}"


def _wrong_node(device: Device, node: NumaNode, allowed_cpus: Collection[int]) -> Fact:
    return Fact.remark(
        f"This process may run on CPUs {format_cpu_list(allowed_cpus)} only, none of them near {device.spec}: every "
        "copy crosses the link between the sockets as well. To run near it (if that is refused, the batch system or "
        "the container has to grant these CPUs):",
        _on_node(node, device),
        f"taskset -c {node.cpus} isthmus measure --device {device.spec}",
    )


def near_size(count: int) -> str:
    """A size to one decimal, for sizes that need no byte count: ``140.4 GiB``, ``105 MiB``."""
    factor, unit = next(((size, name) for size, name in _UNITS if count >= size), (1, "B"))
    return f"{round(count / factor, 1):g} {unit}"


_UNITS = ((GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"))
