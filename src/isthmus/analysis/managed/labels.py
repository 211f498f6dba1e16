"""Names and looks of the ways to move an array, wherever a report shows them."""

from collections.abc import Mapping, Sequence

from isthmus.analysis.labels import kind_label, run_label, run_title
from isthmus.analysis.managed.model import ManagedWay, Movement
from isthmus.document.palette import Look, look, numbered_look
from isthmus.language import say
from isthmus.record import Run, format_bytes

__all__ = ["Source", "movement_title", "of_run", "place_label", "way_label", "way_look"]

# The index of a run, and what it measured.
Source = tuple[int, Movement]

# Kinds of memory keep their look where one way stands for them.
_LOOKS: Mapping[ManagedWay, Look] = {
    ManagedWay("explicit_whole", "pageable"): look("pageable"),
    ManagedWay("explicit_whole", "pinned"): look("pinned"),
    ManagedWay("explicit_touched", "pageable"): look("pageable_huge"),
    ManagedWay("explicit_touched", "pinned"): look("write_combined"),
    ManagedWay("managed", "managed"): look("managed"),
    ManagedWay("prefetch_whole", "managed"): look("managed_prefetch"),
    ManagedWay("prefetch_touched", "managed"): look("registered"),
    ManagedWay("read_mostly", "managed"): look("device"),
    ManagedWay("prefer_device", "managed"): numbered_look(8),
    ManagedWay("accessed_by", "managed"): numbered_look(7),
    ManagedWay("mapped", "mapped"): look("mapped"),
    ManagedWay("system", "pageable"): look("malloc"),
}


def way_label(way: ManagedWay) -> str:
    """``copy all, pinned``; of ways that managed memory alone has the way: ``on demand``."""
    return say(f"managed_report.label_{way.method}", memory=kind_label(way.memory))


def way_look(way: ManagedWay) -> Look:
    """The way's curve."""
    return _LOOKS[way]


def place_label(movement: Movement, place: int) -> str:
    """``10 %``, ``128 KiB``."""
    return f"{place} %" if movement.pattern == "percent" else format_bytes(place)


def movement_title(runs: Sequence[Run], source: Source) -> str:
    """``1 GiB``, with the run's letter where there are several."""
    index, movement = source
    label = run_label(runs, index)
    return format_bytes(movement.bytes) + (f": {label}" if label else "")


def of_run(title: str, runs: Sequence[Run], index: int) -> str:
    """The title, with the run where there are several."""
    return say("managed_report.of_run", title=title, run=run_title(runs, index)) if len(runs) > 1 else title
