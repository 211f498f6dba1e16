"""What joins two devices, as a short name and as a cell of tables."""

from isthmus.document.grid import Cell, missing
from isthmus.language import say


def path_name(path: str) -> str:
    """``NV18``, ``NVLink``, ``PIX``, ``PCIe``, ``host``, ``peer``: as nvidia-smi topo -m has it, if it does."""
    kind, _, detail = path.partition(" ")
    if kind == "nvlink":
        return f"NV{detail}" if detail else "NVLink"
    if kind == "pcie":
        return detail or "PCIe"
    return say(f"peers_report.path_{kind}") if kind in ("host", "peer") else "-"


def path_cell(path: str) -> Cell:
    """By what a pair is joined, with how near the devices are where copies go by the host's memory."""
    kind, _, detail = path.partition(" ")
    if not kind:
        return missing(say("peers_report.path_unknown"))
    return Cell(path_name(path), detail=detail if kind in ("host", "peer") else "")
