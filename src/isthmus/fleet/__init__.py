"""Many machines: what their files say together, which devices are slow among their like, and why."""

from isthmus.fleet.causes import odd_facts
from isthmus.fleet.cells import BelowReference, CellKey, chosen_reference
from isthmus.fleet.gathering import found_files
from isthmus.fleet.outliers import Outlier
from isthmus.fleet.significance import LEAST_ALIKE, RATE, through
from isthmus.fleet.sorting import host_list, is_host_name, natural
from isthmus.fleet.survey import FLEET_COLUMNS, Judged, Survey, fleet_rows, survey
