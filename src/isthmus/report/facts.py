"""The fingerprint of a run in plain words: name and value of everything that was read about the machine."""

from collections.abc import Iterator

from isthmus.record import Device, Host, Link, Run, format_bytes, format_rate, format_seconds

__all__ = ["facts"]


def facts(run: Run) -> list[tuple[str, str]]:
    """What is known, in reading order; what could not be read is left out."""
    found = [*_device(run.fingerprint.device), *_host(run.fingerprint.host), *_run(run)]
    return [(name, value) for name, value in found if value]


def _device(device: Device) -> Iterator[tuple[str, str]]:
    yield "Device", f"{device.name} ({device.spec})"
    yield "Vendor", device.vendor
    yield "Driver", ", ".join(filter(None, (device.driver_version, device.api_version)))
    yield "Compute capability", device.compute_capability
    yield "Device memory", _size(device.memory_bytes)
    yield "Shares the host's memory", "yes" if device.shares_host_memory else ""
    yield "Copy engines", _number(device.copy_engines)
    yield "PCI address", device.pci_address
    yield "Device's NUMA node", _number(device.numa_node)
    if device.link:
        yield from _link(device.link)
    for name, value in device.conditions.items():
        yield name.replace("_", " ").capitalize(), value


def _link(link: Link) -> Iterator[tuple[str, str]]:
    yield "Link, idle", _lanes(link.generation, link.width)
    yield "Link, under load", _lanes(link.generation_under_load, link.width_under_load)
    yield "Link, maximum", _lanes(link.max_generation, link.max_width)
    rate = link.theoretical_bytes_per_second
    yield "Theoretical rate", f"{format_rate(rate)} each way, after line coding, before packet headers" if rate else ""
    yield "Link read through", link.source


def _lanes(generation: int | None, width: int | None) -> str:
    if generation is None and width is None:
        return ""
    return f"PCIe generation {generation or 'unknown'} x{width or '?'}"


def _host(host: Host) -> Iterator[tuple[str, str]]:
    yield "Host", ", ".join(filter(None, (host.name, host.distribution, f"Linux {host.kernel}" if host.kernel else "")))
    cpu = host.cpu
    yield "Processor", ", ".join(filter(None, (cpu.model, cpu.architecture)))
    counts = [f"{cpu.logical} logical CPUs" if cpu.logical else "", f"{cpu.allowed} allowed" if cpu.allowed else ""]
    counts += [f"{cpu.sockets} socket{'s' if cpu.sockets > 1 else ''}"] if cpu.sockets else []
    yield "CPUs", ", ".join(filter(None, counts))
    yield "Last-level cache", _size(cpu.last_level_cache_bytes or 0)
    yield "Virtual machine", "" if cpu.hypervisor is None else "yes" if cpu.hypervisor else "no"
    nodes = [f"node {node.id} ({f'CPUs {node.cpus}' if node.cpus else 'memory only'})" for node in host.numa_nodes]
    yield "NUMA", ", ".join(nodes)
    memory = host.memory
    yield "Host memory", _size(memory.total_bytes)
    yield "Transparent huge pages", _huge_pages(host)
    yield "Reserved huge pages", _number(memory.reserved_huge_pages or None)
    limits = host.limits
    yield "Limit on locked memory", _size(limits.locked_memory_bytes)
    yield "Container", limits.container
    yield "Container's memory limit", _size(limits.container_memory_bytes)
    yield "Container's CPU limit", f"{limits.container_cpus:g} CPUs" if limits.container_cpus else ""
    yield "IOMMU", host.iommu
    yield "Confidential computing", host.confidential


def _huge_pages(host: Host) -> str:
    memory = host.memory
    if not memory.transparent_huge_pages:
        return ""
    size = f" of {_size(memory.huge_page_bytes)}" if memory.huge_page_bytes else ""
    defrag = f", defrag {memory.transparent_huge_page_defrag}" if memory.transparent_huge_page_defrag else ""
    return f"{memory.transparent_huge_pages}{size}{defrag}"


def _run(run: Run) -> Iterator[tuple[str, str]]:
    placement = run.end.placement if run.end else None
    if placement:
        where = "not bound" if placement.bound_node is None else f"bound to NUMA node {placement.bound_node}"
        yield "Threads and memory", ", ".join(filter(None, (where, placement.cpus and f"CPUs {placement.cpus}")))
        yield "Placement", placement.note
    yield "Measured", run.created
    yield "Duration", format_seconds(run.end.seconds) if run.end else ""
    yield (
        "Versions",
        ", ".join(
            filter(
                None,
                (
                    f"Isthmus {run.fingerprint.isthmus_version}",
                    run.fingerprint.python_version and f"Python {run.fingerprint.python_version}",
                ),
            )
        ),
    )


def _size(count: int | None) -> str:
    """Binary units with three digits where the size is not round, as sizes of memory seldom are."""
    if not count:
        return ""
    exact = format_bytes(count)
    if len(exact) <= len("1023 KiB"):
        return exact
    power = min((count.bit_length() - 1) // 10, 4)
    return f"{count / (1 << 10 * power):.3g} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def _number(value: int | None) -> str:
    return "" if value is None else str(value)
