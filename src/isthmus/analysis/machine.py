"""The machine of a run in words: a line of it, a line of its link, of its host, and all that was read of it."""

from collections.abc import Iterator

from isthmus.analysis.phrases import link_rate
from isthmus.document.document import Fact
from isthmus.language import clauses, say
from isthmus.record import Device, Host, Link, Run, format_bytes, format_rate, format_seconds, near_bytes


def machine_strip(run: Run) -> str:
    """``NVIDIA H200 · cuda:0 · PCIe 5.0 x16 (63.0 GB/s) · driver 580.159.04 · NUMA node 0``."""
    device = run.fingerprint.device
    parts = [device.name] if device.spec == device.name else [device.name, device.spec]
    parts.append(_strip_link(run))
    if not device.crosses_link:
        parts.append(say("strip.cpus", count=run.fingerprint.host.cpu.allowed))
    else:
        parts.append(say("strip.driver", version=device.driver_version) if device.driver_version else "")
        parts.append("" if device.numa_node is None else say("strip.node", node=device.numa_node))
    return " · ".join(filter(None, parts))


def origin_line(run: Run) -> str:
    """``gpu-node-17 · GPU-d03260c6-… · 2026-11-23T05:32:53Z``: which host and device were measured, and when."""
    device = run.fingerprint.device
    return " · ".join(filter(None, (run.fingerprint.host.name, device.uuid or device.pci_address, run.created)))


def _strip_link(run: Run) -> str:
    device = run.fingerprint.device
    if not device.crosses_link:
        return say("strip.no_link")
    if device.link is None or device.link.in_use == (None, None):
        return say("strip.link_unknown")
    rate = link_rate(run)
    return f"{link_name(*device.link.in_use)}{f' ({format_rate(rate)})' if rate else ''}"


def link_name(generation: int | None, width: int | None) -> str:
    """``PCIe 5.0 x16``; what is not known is a question mark."""
    return f"PCIe {generation or '?'}.0 x{width or '?'}"


def links_of(run: Run) -> tuple[Link, ...]:
    """The run's link at its beginning and, where that was read, at its end."""
    return tuple(link for link in (run.fingerprint.device.link, run.end.link if run.end else None) if link is not None)


def replays_of(run: Run) -> int | None:
    """Packets that were sent again while the run was measured; None where they were not counted before and after."""
    counted = [link.replays for link in links_of(run) if link.replays is not None]
    return counted[1] - counted[0] if len(counted) == 2 else None


def link_line(run: Run) -> str:
    """The link at rest, at most and under load, and packets sent again; empty where no link was read."""
    links = links_of(run)
    if not links:
        return ""
    last = links[-1]
    loaded = (last.generation_under_load, last.width_under_load) if last.read_under_load else (None, None)
    text = say(
        "health.link_fact",
        idle=_short_link(last.generation, last.width),
        most=_short_link(last.max_generation, last.max_width),
        loaded=_short_link(*loaded),
    )
    more = replays_of(run)
    if more is None:
        return text
    counted = say("health.replays_counted", all=last.replays, more=more)
    return say("common.comma").join([text, counted])


def _short_link(generation: int | None, width: int | None) -> str:
    """``5.0 x16``."""
    return f"{generation}.0 x{width or '?'}" if generation else "?"


def host_line(run: Run) -> str:
    """What transfers depend on at the host."""
    host, device = run.fingerprint.host, run.fingerprint.device
    limit = host.limits.locked_memory_bytes
    near = next((node.cpus for node in host.numa_nodes if node.id == device.numa_node), "")
    facts = [say("health.near_cpus", cpus=near)] if near and not device.shares_host_memory else []
    named = {
        "huge_pages": host.memory.transparent_huge_pages or "?",
        "locked_memory": "unlimited" if limit is None else format_bytes(limit),
        "iommu": host.iommu,
        "confidential": device.conditions.get("confidential_computing"),
    }
    facts += [
        say("labels.named_value", name=_within(say(f"compare_causes.name_{topic}")), value=value)
        for topic, value in named.items()
        if value
    ]
    memory = host.memory
    if memory.registered_bytes is not None and memory.available_bytes:
        size, available = (near_bytes(each) for each in (memory.registered_bytes, memory.available_bytes))
        facts.append(say("health.pinned", size=size, available=available))
    return clauses(facts)


def _within(name: str) -> str:
    """A name in the middle of a line; that of letters alone, as IOMMU, stays."""
    return name[:1].lower() + name[1:] if name[1:2].islower() else name


def facts(run: Run) -> list[Fact]:
    """What is known, in reading order; what could not be read is left out."""
    fingerprint = run.fingerprint
    all_facts = [*_device(fingerprint.device), *_conditions(fingerprint.device), *_host(fingerprint.host), *_run(run)]
    return [fact for fact in all_facts if fact.value]


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
        link = device.link
        yield Fact(say("facts.link_idle"), _lanes(link.generation, link.width))
        yield Fact(say("facts.link_loaded"), _lanes(link.generation_under_load, link.width_under_load))
        yield Fact(say("facts.link_maximum"), _lanes(link.max_generation, link.max_width))
        rate = link.theoretical_bytes_per_second
        yield Fact(say("facts.link_rate"), format_rate(rate) if rate else "")


def _conditions(device: Device) -> Iterator[Fact]:
    for name, value in device.conditions.items():
        yield Fact(name.replace("_", " ").capitalize(), value, foreign=True)


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
