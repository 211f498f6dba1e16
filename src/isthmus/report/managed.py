"""The section on explicit and automatic data movement: thresholds, all of the array, curves, and the paper."""

from collections.abc import Sequence

from isthmus.model import movements
from isthmus.record import Run
from isthmus.report.granularity import granularity_parts
from isthmus.report.managed_curves import curves_part
from isthmus.report.managed_tables import paper_part, thresholds_part, whole_part
from isthmus.report.managed_times import phases_part, times_part
from isthmus.report.section import Section

__all__ = ["section"]

_INTRO = (
    "The CPU initialises an array of doubles; the device adds a constant to its leading part, or to one double in "
    "every so many bytes; the CPU adds all of it up, which is checked. Timed are copy in with computing, and copy out "
    "with adding up; before, all of the array is on the host. Copy all, copy touched: explicit copies to device memory "
    "and back. On demand: managed memory, whose pages go to who touches them. Prefetch, read-mostly, prefer device, "
    "accessed-by: the same with that call. Mapped: pinned memory that the kernel works on over the link. System: "
    "ordinary memory likewise."
)


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of it; None where that is nothing but skips."""
    found = [(index, movement) for index, run in enumerate(runs) for movement in movements(run)]
    parts = [
        thresholds_part(runs, found),
        whole_part(runs, found),
        curves_part(runs, found),
        times_part(runs, found),
        phases_part(runs, found),
        paper_part(runs),
        *granularity_parts(runs),
    ]
    shown = tuple(part for part in parts if part)
    return Section("managed", "Explicit and automatic data movement", _INTRO, shown) if shown else None
