"""Devices and absent backends in plain words: what each is, how it is attached, and what to do about what is wrong."""

import re
from collections.abc import Collection

import msgspec

from isthmus.document.document import Fact, Machine
from isthmus.machine.cpu import format_cpu_list, parse_cpu_list
from isthmus.record import GIB, KIB, MIB, Backend, Device, Host, Link, NumaNode, format_rate


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
