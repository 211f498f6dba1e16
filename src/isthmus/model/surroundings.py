"""What the machine around the device does to the figures: link, limits, page sizes, NUMA, confidential mode."""

from isthmus.model.finding import Finding
from isthmus.model.phrases import link_rate
from isthmus.record import Link, Run, format_bytes, format_rate

__all__ = ["surroundings_findings"]

_HUGE_KINDS = {"pageable_huge", "registered_huge", "touched_registered_huge"}
_LOCKED_KINDS = {
    "pinned",
    "pinned_portable",
    "write_combined",
    "registered",
    "registered_huge",
    "touched_registered",
    "touched_registered_huge",
    "staging",
    "mapped",
}
_OFF = {"", "0", "disabled", "false", "inactive", "n/a", "no", "none", "not supported", "off"}


def surroundings_findings(run: Run) -> list[Finding]:
    """What the fingerprint and the placement say that explains the figures or should be changed."""
    found = [
        _trained_down(run),
        _no_link(run),
        _numa(run),
        _stray_pages(run),
        _confidential(run),
        _locked_memory(run),
        _huge_pages_off(run),
    ]
    return [finding for finding in found if finding]


def _trained_down(run: Run) -> Finding | None:
    link = run.fingerprint.device.link
    if link is None or run.fingerprint.device.shares_host_memory:
        return None
    loaded = link.generation_under_load is not None or link.width_under_load is not None
    generation = link.generation_under_load or link.generation
    width = link.width_under_load or link.width
    if not _below(generation, link.max_generation) and not _below(width, link.max_width):
        return None
    rate, possible = link_rate(run), _maximum(link).theoretical_bytes_per_second
    cost = f": {format_rate(rate)} of {format_rate(possible)} one way" if rate and possible else ""
    now, best = _link_name(generation, width), _link_name(link.max_generation, link.max_width)
    if not loaded:
        return Finding(
            "info",
            "link_trained_down",
            f"The link read {now} while idle, below its maximum of {best}{cost}. Its state under load was not read, so "
            "this run cannot tell whether the transfers were held back: idle links train down to save power.",
        )
    return Finding(
        "warning",
        "link_trained_down",
        f"Under load the link runs as {now}, below its maximum of {best}{cost}.",
        cause="The slot or a riser has fewer lanes, a contact is bad, the firmware limits the slot, or the platform is "
        "older than the device.",
        fix="See which side limits with lspci -vv (LnkCap against LnkSta, on the device and on the port above it); "
        "reseat the card, or change the slot or its firmware setting.",
    )


def _no_link(run: Run) -> Finding | None:
    device = run.fingerprint.device
    if link_rate(run) or not run.cases:
        return None
    if device.shares_host_memory:
        sentence = "The device shares the host's memory: no link is crossed, so no share of one is shown."
    else:
        sentence = "The link's generation and width could not be read, so no rate is compared with the link."
    return Finding("info", "no_link", sentence)


def _numa(run: Run) -> Finding | None:
    nodes = [node for node in run.fingerprint.host.numa_nodes if node.cpus]
    placement = run.end.placement if run.end else None
    if len(nodes) < 2 or (placement and placement.bound_node is not None):
        return None
    if placement is None:
        return Finding(
            "info",
            "numa",
            f"The host has {len(nodes)} NUMA nodes with processors, and the file does not say where threads and pages "
            "were: it cannot tell whether the rates are those of the device's own node.",
        )
    why = f" ({placement.note})" if placement.note else ""
    nearest = run.fingerprint.device.numa_node
    node = "N" if nearest is None else str(nearest)
    return Finding(
        "warning",
        "numa",
        f"Threads and memory were not bound to one of the host's {len(nodes)} NUMA nodes{why}: the rates may "
        "be those of the farther one.",
        fix=f"Run under numactl --cpunodebind={node} --membind={node}; a container must allow set_mempolicy for that.",
    )


def _stray_pages(run: Run) -> Finding | None:
    placement = run.end.placement if run.end else None
    if placement is None or placement.bound_node is None:
        return None
    node = str(placement.bound_node)
    stray = {
        kind: 1 - share[node] if node in share else 1.0
        for kind, share in placement.pages.items()
        if share and share.get(node, 0.0) < 0.95
    }
    if not stray:
        return None
    kinds = ", ".join(f"{kind} {100 * share:.0f} %" for kind, share in stray.items())
    return Finding(
        "warning",
        "stray_pages",
        f"Not all pages lie on NUMA node {node}, to which the run was bound; elsewhere are: {kinds}.",
        cause="The node had too little free memory, or the kind of memory is placed by the driver.",
        fix="Free memory on that node (numactl --hardware shows it) and measure again.",
    )


def _confidential(run: Run) -> Finding | None:
    device = run.fingerprint.device
    modes = [f"host: {run.fingerprint.host.confidential}"] if run.fingerprint.host.confidential else []
    modes += [
        f"device: {value}"
        for name, value in device.conditions.items()
        if "confidential" in name.lower() and value.strip().lower() not in _OFF
    ]
    if not modes:
        return None
    return Finding(
        "warning",
        "confidential",
        f"Confidential computing is on ({'; '.join(modes)}). Compare these rates only with others measured that way.",
        cause="Where the device takes part, the driver encrypts what crosses the link through a bounce buffer, one "
        "transfer after the other.",
    )


def _locked_memory(run: Run) -> Finding | None:
    limit = run.fingerprint.host.limits.locked_memory_bytes
    if limit is None:
        return None
    skipped = [case for case in run.cases if case.skipped and case.host_memory in _LOCKED_KINDS and case.bytes > limit]
    if not skipped:
        return None
    kinds = ", ".join(sorted({case.host_memory for case in skipped}))
    return Finding(
        "warning",
        "locked_memory",
        f"The process may lock {format_bytes(limit)} of memory, and {len(skipped)} larger cases of locked memory "
        f"({kinds}) were skipped. Their reasons say whether the limit caused it.",
        fix="Raise the limit with ulimit -l unlimited, or start the container with --ulimit memlock=-1.",
    )


def _huge_pages_off(run: Run) -> Finding | None:
    off = run.fingerprint.host.memory.transparent_huge_pages == "never"
    if not off or not any(case.skipped and case.host_memory in _HUGE_KINDS for case in run.cases):
        return None
    return Finding(
        "info",
        "huge_pages_off",
        "Transparent huge pages are switched off on this host, so what they would gain was not measured.",
        fix="Allow programs to ask for them, as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
    )


def _below(value: int | None, maximum: int | None) -> bool:
    return value is not None and maximum is not None and value < maximum


def _maximum(link: Link) -> Link:
    return Link(generation=link.max_generation, width=link.max_width)


def _link_name(generation: int | None, width: int | None) -> str:
    return f"PCIe generation {generation or '?'} x{width or '?'}"
