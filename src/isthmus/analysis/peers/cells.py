"""Figures between devices as cells of tables, and what joins two devices as a short name."""

from dataclasses import replace

from isthmus.analysis.peers.model import Figure
from isthmus.document.grid import Cell, brief, failed, interval_cell, missing, skipped
from isthmus.language import say


def figure_cell(figure: Figure | None) -> Cell:
    """A rate in GB/s; of what is missing, wrong or skipped the reason."""
    return _cell(figure, is_time=False)


def access_cell(figure: Figure | None) -> Cell:
    """The time of one access in ns."""
    return _cell(figure, is_time=True)


def _cell(figure: Figure | None, *, is_time: bool) -> Cell:
    if figure is None:
        return missing()
    if figure.is_wrong:
        return failed(figure.note)
    if figure.seconds is None or figure.rate is None:
        return skipped(figure.note)
    # Eight columns have no room for units and intervals, which pointing at a figure shows.
    shown = interval_cell(figure.seconds if is_time else figure.rate, scale=1e9 if is_time else 1e-9, wide=figure.wide)
    return replace(
        brief(shown), detail=say("peers_report.half", half=shown.half_width, unit="ns" if is_time else "GB/s")
    )


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
