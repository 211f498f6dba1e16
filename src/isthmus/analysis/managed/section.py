"""The section on explicit and automatic data movement: thresholds, all of the array, curves."""

from collections.abc import Sequence

from isthmus.analysis.managed.curves import curves_part
from isthmus.analysis.managed.granularity_tables import granularity_parts
from isthmus.analysis.managed.model import movements
from isthmus.analysis.managed.published import measured_movements
from isthmus.analysis.managed.tables import thresholds_part, whole_part
from isthmus.analysis.managed.times import phases_part, times_part
from isthmus.analysis.published.table import published_part
from isthmus.document.section import Section
from isthmus.language import say
from isthmus.record import Run


def section(runs: Sequence[Run]) -> Section | None:
    """What the runs hold of it; None where that is nothing but skips."""
    found = [(index, movement) for index, run in enumerate(runs) for movement in movements(run)]
    parts = [
        thresholds_part(runs, found),
        whole_part(runs, found),
        curves_part(runs, found),
        times_part(runs, found),
        phases_part(runs, found),
        published_part(runs, "managed", measured_movements),
        *granularity_parts(runs),
    ]
    shown = tuple(part for part in parts if part)
    if not shown:
        return None
    # What is told of units alone is no figure of such a pass over an array.
    caveats = ("managed_report.caveat_work", "managed_report.caveat_fits")
    return Section(
        "managed",
        say("managed_report.title"),
        say("managed_report.intro"),
        shown,
        question=say("managed_report.question"),
        caveats=tuple(map(say, caveats)) if found else (),
    )
