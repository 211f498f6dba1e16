"""What is between two devices: NVLink, PCI Express or the host's memory, and how near they are to each other."""

from isthmus import _native

# nvmlGpuTopologyLevel_t, by the names that `nvidia-smi topo -m` has for them.
_ANCESTORS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}


def path_between(here: _native.Device, there: _native.Device) -> str:
    """``nvlink 18``, ``pcie PIX``, ``host SYS``; without the second word where NVML does not say, and ``peer`` alone.

    ``host``: neither device reaches the other's memory, so that copies pass through the host's. ``peer``: they reach
    each other, and NVML does not say by what. Empty where devices of the backend do not copy to each other.
    """
    if here.why_no_peer(there):
        return ""
    reading = _native.read_peer(here, there)
    ancestor = "" if reading["ancestor"] is None else _ANCESTORS.get(reading["ancestor"], "")
    if here.why_no_peer_reach(there):
        return f"host {ancestor}".strip()
    if reading["has_nvlink"]:
        return f"nvlink {reading['nvlinks'] or ''}".strip()
    return f"pcie {ancestor}".strip() if reading["has_nvlink"] is False else f"peer {ancestor}".strip()
