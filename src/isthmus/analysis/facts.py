"""The fingerprint of a run in plain words: name and value of everything that was read about the machine."""

from collections.abc import Iterator

from isthmus.analysis.strip import link_name
from isthmus.document.document import Fact
from isthmus.language import say
from isthmus.record import Device, Host, Link, Run, format_rate, format_seconds, near_bytes


def facts(run: Run) -> list[Fact]:
    """What is known, in reading order; what could not be read is left out."""
    fingerprint = run.fingerprint
    found = [*_device(fingerprint.device), *_conditions(fingerprint.device), *_host(fingerprint.host), *_run(run)]
    return [fact for fact in found if fact.value]


def _device(device: Device) -> Iterator[Fact]:
    yield Fact(_named("device"), say("common.device", name=device.name, spec=device.spec))
    yield Fact(_named("driver"), _listed(device.driver_version, device.api_version))
    yield Fact(say("facts.compute_capability"), device.compute_capability)
    yield Fact(say("facts.device_memory"), _size(device.memory_bytes))
    yield Fact(say("facts.shares_memory"), say("facts.yes") if device.shares_host_memory else "")
    yield Fact(say("facts.copy_engines"), _number(device.copy_engines))
    yield Fact(say("facts.pci_address"), device.pci_address)
    yield Fact(_named("device_node"), _number(device.numa_node))
    if device.link:
        yield from _link(device.link)


def _conditions(device: Device) -> Iterator[Fact]:
    for name, value in device.conditions.items():
        yield Fact(name.replace("_", " ").capitalize(), value, foreign=True)


def _link(link: Link) -> Iterator[Fact]:
    yield Fact(say("facts.link_idle"), _lanes(link.generation, link.width))
    yield Fact(say("facts.link_loaded"), _lanes(link.generation_under_load, link.width_under_load))
    yield Fact(say("facts.link_maximum"), _lanes(link.max_generation, link.max_width))
    rate = link.theoretical_bytes_per_second
    yield Fact(say("facts.link_rate"), format_rate(rate) if rate else "")


def _lanes(generation: int | None, width: int | None) -> str:
    if generation is None and width is None:
        return ""
    return link_name(generation, width)


def _host(host: Host) -> Iterator[Fact]:
    yield Fact(say("facts.host"), _listed(host.name, host.distribution, f"Linux {host.kernel}" if host.kernel else ""))
    cpu = host.cpu
    yield Fact(_named("cpu"), _listed(cpu.model, cpu.architecture))
    counts = [say("facts.logical", count=cpu.logical)] if cpu.logical else []
    counts += [say("facts.allowed", count=cpu.allowed)] if cpu.allowed else []
    counts += [say("facts.sockets", count=cpu.sockets)] if cpu.sockets else []
    yield Fact(say("facts.cpus"), _listed(*counts))
    yield Fact(say("facts.cache"), _size(cpu.last_level_cache_bytes or 0))
    yield Fact(say("facts.virtual"), say("facts.yes") if cpu.hypervisor else "")
    nodes = [say("facts.node", node=node.id, cpus=node.cpus or "-") for node in host.numa_nodes]
    yield Fact("NUMA", _listed(*nodes))
    memory = host.memory
    yield Fact(say("facts.host_memory"), _size(memory.total_bytes))
    yield Fact(_named("huge_pages"), _huge_pages(host))
    limits = host.limits
    yield Fact(_named("locked_memory"), _size(limits.locked_memory_bytes))
    yield Fact(say("facts.container"), limits.container)
    yield Fact(_named("container_memory"), _size(limits.container_memory_bytes))
    yield Fact(_named("container_cpus"), f"{limits.container_cpus:g}" if limits.container_cpus else "")
    yield Fact(_named("iommu"), host.iommu, foreign=True)
    yield Fact(_named("confidential"), host.confidential, foreign=True)


def _huge_pages(host: Host) -> str:
    memory = host.memory
    if not memory.transparent_huge_pages:
        return ""
    defrag = f"defrag {memory.transparent_huge_page_defrag}" if memory.transparent_huge_page_defrag else ""
    return _listed(memory.transparent_huge_pages, _size(memory.huge_page_bytes), defrag)


def _run(run: Run) -> Iterator[Fact]:
    placement = run.end.placement if run.end else None
    if placement:
        node = placement.bound_node
        cpus = placement.cpus or "-"
        where = say("facts.on_cpus", cpus=cpus) if node is None else say("facts.node", node=node, cpus=cpus)
        yield Fact(say("facts.placement"), where)
    yield Fact(say("facts.measured"), run.created)
    yield Fact(say("facts.duration"), format_seconds(run.end.seconds) if run.end else "")
    python = run.fingerprint.python_version
    versions = _listed(f"Isthmus {run.fingerprint.isthmus_version}", f"Python {python}" if python else "")
    yield Fact(say("facts.versions"), versions)


def _named(topic: str) -> str:
    """The name that comparisons have for it, too."""
    return say(f"compare_causes.name_{topic}")


def _listed(*words: str) -> str:
    return say("common.comma").join(filter(None, words))


def _size(count: int | None) -> str:
    return near_bytes(count) if count else ""


def _number(value: int | None) -> str:
    return "" if value is None else str(value)
