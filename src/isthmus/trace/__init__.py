"""Opens traces of several makers: one model for all of them."""

from isthmus.trace import vendors
from isthmus.trace.columns import (
    CAUSES,
    DIRECTIONS,
    MEMORY_KINDS,
    UNKNOWN,
    Allocations,
    Calls,
    Copies,
    Faults,
    Integers,
    Intervals,
    Ranges,
    Windows,
    cause_index,
    direction_index,
    fault_index,
    memory_index,
)
from isthmus.trace.isthmus.blocks import join_parts
from isthmus.trace.opening import open_trace
from isthmus.trace.recorded import grouped, kernel_name
from isthmus.trace.sites import own_frame, package, site_words
from isthmus.trace.trace import Knowledge, Maker, Process, Site, Trace
from isthmus.trace.union import Union, union
