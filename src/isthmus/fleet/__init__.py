"""Many machines: what their files say together, which devices are slow among their like, and why."""

from isthmus.fleet.causes import odd_facts
from isthmus.fleet.cells import CellKey
from isthmus.fleet.expected import BelowReference, chosen_reference
from isthmus.fleet.gathering import found_files
from isthmus.fleet.groups import LEAST_ALIKE, through
from isthmus.fleet.hosts import host_list, is_host_name, natural
from isthmus.fleet.outliers import Outlier
from isthmus.fleet.rows import FLEET_COLUMNS, fleet_rows
from isthmus.fleet.significance import RATE
from isthmus.fleet.survey import Judged, Survey, survey

__all__ = [
    "FLEET_COLUMNS",
    "LEAST_ALIKE",
    "RATE",
    "BelowReference",
    "CellKey",
    "Judged",
    "Outlier",
    "Survey",
    "chosen_reference",
    "fleet_rows",
    "found_files",
    "host_list",
    "is_host_name",
    "natural",
    "odd_facts",
    "survey",
    "through",
]
