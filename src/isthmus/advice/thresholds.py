"""When a finding is more than information, and what rules take for small, large or repeated: all in one place."""

from isthmus.record import GIB, KIB, MIB

# A warning gains so much of the span, and so long, at least; and the low end of its interval is above zero.
_LEAST_GAIN_SHARE = 0.01
_LEAST_GAIN_SECONDS = 100e-6
# A finding names so many places; the rest is in its totals.
MOST_PLACES = 20

# A traced call costs microseconds more than one that is not. Copies below this are taken to cost what the run says of
# their kind of memory, unless they took less.
TRACED_BYTES = MIB
# A device begins a copy that nothing is before so long after its call, at the latest: what a call takes beyond that is
# the driver's own, such as loading modules in a program's first calls.
LONGEST_START_SECONDS = 200e-6
# No kernel begins so soon after its launch, or after what was before it on its stream, unless it was queued.
SHORTEST_LAUNCH_SECONDS = 3e-6
# Copies of at most so many bytes are mostly latency; so many in a row, with no longer a pause between, are a burst.
SMALL_COPY_BYTES = 64 * KIB
LEAST_BURST = 16
# Up to here a copy's latency counts, so that one call for a burst gains something; and such a share of it is worth it.
LATENCY_BYTES = 512 * KIB
LEAST_BURST_SHARE = 0.1
# Copies of one place with kernels between them are a loop where they come as often, and the device computes for less
# than such a share of it.
LONGEST_PERIOD_SECONDS = 1e-3
MOST_COMPUTING = 0.5
# What Python's numbers and lists make.
LIST_BYTES = 4 * KIB
LONGEST_BURST_GAP_SECONDS = 200e-6
# What takes the place of a burst within a device: one launch, and a kernel that moves a few megabytes.
ONE_LAUNCH_SECONDS = 10e-6
# No more bytes are packed at once: larger buffers take memory and gain nothing.
MOST_PACKED_BYTES = 64 * MIB
# A copy engine works in order: copies of so many chunks and more let small ones in where they are made in such chunks.
# What waits for the engine, or for a copy, goes on so soon after it.
CHUNK_BYTES = 4 * MIB
LEAST_CHUNKS = 4
LONGEST_HANDOVER_SECONDS = 20e-6
# A library that waited for kernels on a lock of its own asks for their result so soon: XLA after 0.15 to 0.5 ms.
LONGEST_ANSWER_SECONDS = 1e-3
# Copies below this mark no stage of a pipeline: results of a few bytes that the host looks at.
OVERLAP_BYTES = 64 * KIB
# So many times copy and work of the same sizes are a loop. A single one can be cut into chunks where both stages are
# long, the copy is large and the kernels are few: many work on the data as a whole.
LEAST_CYCLES = 3
SINGLE_CHUNKS = 8
MOST_SINGLE_KERNELS = 3
LARGE_COPY_BYTES = 16 * MIB
OVERLAP_SECONDS = 1e-3
# So many waits of a program that run its devices dry are a habit of it. Of what launching ahead would gain by the
# timeline, so much is sure: work that was launched ahead begins a little later than at once.
LEAST_WAITS = 3
# A call that is not known to wait did so if it took longer than this, mostly while kernels ran, and returned as soon
# after the last of them as a wait does, or within this share of its own time.
LEAST_LATE_SECONDS = 20e-6
LATE_SHARE = 0.1
WAIT_SURE_SHARE = 0.75
# Between two calls a host that launches is busy with the next one for less than this; what takes longer is work of its
# own. Ranges are named for it that hold so much of it, and take no longer than so many times it.
LEAST_HOST_WORK_SECONDS = 1e-3
NAMED_WORK_SHARE = 0.8
NAMED_WORK_TIMES = 2.0
# Where kernels were recorded in windows alone, so many of them hold what is taken for the time between them, too.
LEAST_WINDOWS = 20
# A phase repeats where something comes so often or more, at distances of which such a share is within such a spread of
# the median, with more than half of all kernels between them; and steps take such a share of the time from the first
# on. What takes so many times the median is no step.
LEAST_STEPS = 3
STEADY_SHARE = 0.8
STEP_SPREAD = 0.25
STEP_COVERAGE = 0.75
SLOW_STEP_TIMES = 1.5
# Less of its own work after a copy is a thread's way from one call to the next.
LEAST_OWN_SECONDS = 20e-6
# A thread copies within the host at least and at most so many bytes a second, into fresh pages at the least.
SLOWEST_HOST_COPY = 0.8e9
FASTEST_HOST_COPY = 20e9
# No thread writes more than a cache holds any faster.
FASTEST_WRITE_BYTES_PER_SECOND = 100e9
# How many times as long as the run says a copy takes where something is wrong; copies of pageable memory vary more.
SLOW_TIMES = 1.5
SLOW_PAGEABLE_TIMES = 2.5
# Into pages that are not touched yet, copies of pageable memory take up to so many times as long: each page is made
# when the driver writes to it.
NEW_PAGES_TIMES = 12.0
# What `isthmus accelerate` takes by default; smaller copies stay the driver's.
ACCELERATED_BYTES = 256 * KIB
# It leaves all of them to the driver until they could have gained what its start costs: so many seconds, by what a byte
# to the device and one to the host gain (native/accelerator/accelerator.cpp).
LIBRARY_START_SECONDS = 20e-3
GAIN_A_BYTE = {"h2d": 7e-11, "d2h": 2e-10}
# So many buffers of a place, and such a share of its copies, are memory that is new each time.
LEAST_NEW_BUFFERS = 4
NEW_BUFFERS_SHARE = 0.75
# A copy comes from new pages where its thread put so many in place before it, of such a size at most, for this share of
# it: of the others other threads put in place their parts.
LARGEST_PAGE_BYTES = 2 * MIB
NEW_PAGES_SHARE = 0.5
# The library's threads gain little where the program's own keep such a share of the processors busy.
BUSY_PROCESSORS_SHARE = 0.75
# Pinned memory that is allocated and freed again so often could have been kept.
LEAST_REPEATED_ALLOCATIONS = 4
# Allocators that cache round up to the next power of two.
MOST_ROUNDED_UP = 2
# A copy within the host by all threads of a library takes at least this share of what one thread takes.
LEAST_OF_SECOND_COPY = 0.2
# A prefetch that gains this share of what explicit copies would is the change to make.
PREFETCH_SHARE = 0.25
# Pinned memory is unused where copies touch less than this share, from so many bytes on; a warning from this share of
# the host's memory on.
UNUSED_PINNED_SHARE = 0.5
PINNED_BYTES = GIB
# The share of memory rounded up to a power of two that copies use: more than half, and at most this.
ROUNDED_UP_SHARE = 0.75
PINNED_SHARE_OF_HOST = 0.25


def least_gain(span_seconds: float) -> float:
    """Seconds that are worth a warning in a program that takes so long."""
    return max(_LEAST_GAIN_SECONDS, _LEAST_GAIN_SHARE * span_seconds)
