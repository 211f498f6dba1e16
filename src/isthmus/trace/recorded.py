"""What can be true of any record, whoever made the trace, and CUPTI's numbers that several makers write as they are."""

import numpy as np

from isthmus.trace.columns import CAUSES, Integers

# Nothing that a program does lasts a year.
MOST_NS = 365 * 24 * 3600 * 10**9
# Times count from when a recording began, a machine started, or 1970.
_LAST_NS = 1 << 62
# An address space; more is no count of bytes.
MOST_BYTES = 1 << 48
# CUPTI's word for no device, stream or correlation.
NO_NUMBER = 0xFFFFFFFF
# Places in `CAUSES` as CUPTI numbers why pages moved; 0 is unknown.
CAUSE_OF = {number: cause for cause, number in enumerate(range(1, len(CAUSES) + 1))}


def sound_rows(start_ns: Integers, end_ns: Integers, sizes: Integers | None, first_ns: int) -> Integers:
    """The places of records that can be right, by when they began; none begins before `first_ns`.

    `sizes` are the bytes of each, if records of this kind have any.
    """
    # CUPTI gives 0 for both times where it got none.
    sound = (start_ns >= first_ns) & (end_ns > 0) & (end_ns >= start_ns) & (end_ns < _LAST_NS)
    # What cannot be right is not subtracted, lest that overflow.
    sound &= end_ns - np.where(sound, start_ns, end_ns) <= MOST_NS
    if sizes is not None:
        sound &= (sizes >= 0) & (sizes <= MOST_BYTES)
    rows = np.flatnonzero(sound)
    ordered: Integers = rows[np.argsort(start_ns[rows], kind="stable")]
    return ordered
