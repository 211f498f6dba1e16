"""The host in plain words: its settings and, only where one costs transfers their speed, what it does and the cure."""

from isthmus.commands._device_words import near_size
from isthmus.document.document import Machine
from isthmus.record import GIB, Host, Limits, Memory

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
