"""Which parts of an array each mode of `managed` has touched, and by which ways they are moved.

A sample takes up to a second, most of it to initialise the array, to add it up and to fault pages back, and six samples
are the least. So by default only the way that is in question, pages on demand, has more than a few points; what copies
the whole array takes the same time however much is touched of it. Of an array that was said to be read mostly the
device writes little: each page that is on both sides takes the driver so long that all of 1 GiB took an H200 half a
minute.
"""

from collections.abc import Mapping

from isthmus.experiment.engine.options import ModeName
from isthmus.experiment.managed.points import Reach, Sweep
from isthmus.record import KIB, MIB

# The strides of the paper, 4 to 396 KiB, thinned out where its curves are straight, and on to 4 MiB.
_PAPER_KIB = (4, 16, 32, 64, 76, 96, 120, 124, 128, 160, 256, 396, 512)
_ALL_STRIDES = [*(each * KIB for each in _PAPER_KIB), MIB, 2 * MIB, 4 * MIB]
_ALL_PERCENTS = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
# A prefetch is a call for each page: at denser strides there are so many that nobody would make them.
_SPARSE = [each for each in _ALL_STRIDES if each >= 128 * KIB]

_QUICK: Sweep = {
    "explicit_whole": Reach([100], [256 * KIB]),
    "explicit_touched": Reach([25], [256 * KIB]),
    "managed": Reach([1, 25, 100], [64 * KIB, 256 * KIB, MIB]),
    "prefetch_whole": Reach([100], []),
    "prefetch_touched": Reach([25], [256 * KIB]),
    "read_mostly": Reach([1], []),
    "prefer_device": Reach([100], []),
    "accessed_by": Reach([100], [256 * KIB]),
    "mapped": Reach([100], [256 * KIB]),
    "system": Reach([100], [256 * KIB]),
}
_DEFAULT: Sweep = {
    "explicit_whole": Reach([100], [128 * KIB]),
    "explicit_touched": Reach([1, 10, 50], [256 * KIB]),
    "managed": Reach([1, 10, 25, 50, 100], [4 * KIB, 128 * KIB, 256 * KIB, 512 * KIB, 4 * MIB]),
    "prefetch_whole": Reach([100], []),
    "prefetch_touched": Reach([1, 10, 50], [256 * KIB, 4 * MIB]),
    "read_mostly": Reach([1], [256 * KIB]),
    "prefer_device": Reach([100], [256 * KIB]),
    "accessed_by": Reach([100], [256 * KIB]),
    "mapped": Reach([10, 100], [256 * KIB]),
    "system": Reach([10, 100], [256 * KIB]),
}
_SOME_PERCENTS = (1, 10, 30, 60, 100)
_SOME_STRIDES = [4 * KIB, 64 * KIB, 128 * KIB, 256 * KIB, MIB, 4 * MIB]
_FULL: Sweep = {
    "explicit_whole": Reach([1, 60, 100], [4 * KIB, 128 * KIB, 4 * MIB]),
    "explicit_touched": Reach(_SOME_PERCENTS, _SOME_STRIDES),
    "managed": Reach(_ALL_PERCENTS, _ALL_STRIDES),
    "prefetch_whole": Reach(_SOME_PERCENTS, [128 * KIB, 4 * MIB]),
    "prefetch_touched": Reach(_SOME_PERCENTS, _SPARSE),
    "read_mostly": Reach([1, 5], [128 * KIB, MIB]),
    "prefer_device": Reach([10, 100], [128 * KIB, MIB]),
    "accessed_by": Reach([10, 100], [128 * KIB, MIB]),
    "mapped": Reach([10, 100], [128 * KIB, MIB]),
    "system": Reach([10, 100], [128 * KIB, MIB]),
}
SWEEPS: Mapping[ModeName, Sweep] = {"quick": _QUICK, "default": _DEFAULT, "full": _FULL}
