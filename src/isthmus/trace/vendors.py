"""What each vendor calls the functions that copy, wait, and get or give back pinned memory: one row a vendor.

A new vendor is one row here; what its copies are called in traces of torch is a row of `kineto/copies.py`.
"""

import re
from dataclasses import dataclass

from isthmus.trace.recorded import OPENCL_WAITS

# What AMD's profiler is to record, in the format that is read.
ROCPROFV3 = "rocprofv3 --hip-trace --kernel-trace --memory-copy-trace --output-format json"
_NEVER = re.compile(r"(?!)")
# Waits for all work of a device or a context.
_FOR_ALL = re.compile(r"\w*(Device|Ctx|Context|Thread)Synchronize")
# Functions of memory that may wait for all work of a device, of any vendor: none of those that a stream orders.
_FREES = re.compile(r"(?!.*Async)\w*(Free|Unregister|Unmap|MemRelease)")
_ALLOCATES = re.compile(r"(?!.*Async)\w*([Aa]lloc|HostRegister|MemCreate|MemMap)")
_LAUNCHES = re.compile(r"\w*Launch")


@dataclass(frozen=True)
class Vendor:
    """Names of one vendor's functions; every pattern is matched from the beginning of a name."""

    # As people say it.
    name: str
    # What all its functions begin with.
    functions: re.Pattern[str]
    # Functions that copy between host and device, or may.
    copies: re.Pattern[str]
    # Those of them that may return before the copy is done; all of them where arguments decide that.
    asynchronous: re.Pattern[str]
    # Functions in which a thread waits for a stream or a device.
    waits: re.Pattern[str]
    # Functions that get and give back pinned memory; none where their names do not tell it from other memory.
    pins: re.Pattern[str] = _NEVER
    unpins: re.Pattern[str] = _NEVER


VENDORS = (
    Vendor(
        "CUDA",
        re.compile(r"cu(da)?[A-Z]"),
        re.compile(r"cu(da)?Memcpy(?!.*(DtoD|AtoA|DtoA|AtoD|Peer))"),
        re.compile(r"\w*Async"),
        re.compile(r"\w*Synchronize"),
        re.compile(r"(cuda|cuMem)(HostAlloc|MallocHost|AllocHost|HostRegister)"),
        re.compile(r"(cuda|cuMem)(FreeHost|HostUnregister)"),
    ),
    Vendor(
        "HIP",
        re.compile(r"hip[A-Z]"),
        re.compile(r"hipMemcpy(?!.*(DtoD|Peer))"),
        re.compile(r"\w*Async"),
        re.compile(r"\w*Synchronize"),
        re.compile(r"hip(HostMalloc|HostAlloc|MallocHost|MemAllocHost|HostRegister)"),
        re.compile(r"hip(HostFree|FreeHost|HostUnregister)"),
    ),
    Vendor(
        "SYCL",
        re.compile(r"(ur|pi|ze)[A-Z]|pi_"),
        re.compile(r"urEnqueue(USMMemcpy|MemBuffer(Read|Write))|zeCommandListAppendMemoryCopy|piextUSMEnqueueMemcpy"),
        # An argument says whether they wait.
        re.compile(r"(ur|pi|ze)"),
        re.compile(
            r"ur(QueueFinish|EventWait)|ze(\w+HostSynchronize|CommandQueueSynchronize)|pi(QueueFinish|EventsWait)"
        ),
    ),
    # As its profiler names calls of the driver; who waits is not known.
    Vendor("XLA", re.compile(r"Memcpy[HD]2"), re.compile(r"Memcpy(H2D|D2H)"), re.compile(r"\w*"), _NEVER),
    Vendor(
        "OpenCL",
        re.compile(r"cl[A-Z]"),
        re.compile(r"clEnqueue(Read|Write)Buffer|clEnqueueSVMMemcpy"),
        # Recorders say of each call whether it waited.
        _NEVER,
        re.compile("|".join(OPENCL_WAITS)),
    ),
)


def vendor_of(name: str) -> Vendor | None:
    """Whose function that is; None for any other name."""
    return next((vendor for vendor in VENDORS if vendor.functions.match(name)), None)


def copies(name: str) -> bool:
    """Whether a function of this name copies between host and device."""
    vendor = vendor_of(name)
    return vendor is not None and vendor.copies.match(name) is not None


def asynchronous(name: str) -> bool:
    """Whether a function of this name may return before what it asks for is done."""
    vendor = vendor_of(name)
    return (vendor or VENDORS[0]).asynchronous.match(name) is not None


def waits(name: str) -> bool:
    """Whether a thread waits in a function of this name for a stream or a device."""
    vendor = vendor_of(name)
    return vendor is not None and vendor.waits.match(name) is not None


def waits_for_all(name: str) -> bool:
    """Whether a thread waits in a function of this name for everything that a device has to do."""
    return _FOR_ALL.match(name) is not None


def launches(name: str) -> bool:
    """Whether a function of this name gives a device work to do that is no copy."""
    return _LAUNCHES.match(name) is not None


def allocates(name: str) -> bool:
    """Whether a function of this name gets memory of any kind, and a stream does not order that."""
    return vendor_of(name) is not None and _ALLOCATES.match(name) is not None


def frees(name: str) -> bool:
    """Whether a function of this name gives memory of any kind back, and a stream does not order that."""
    return vendor_of(name) is not None and _FREES.match(name) is not None


def pins(name: str) -> bool:
    """Whether a function of this name gets pinned memory, or pins some."""
    vendor = vendor_of(name)
    return vendor is not None and vendor.pins.match(name) is not None


def unpins(name: str) -> bool:
    """Whether a function of this name gives pinned memory back."""
    vendor = vendor_of(name)
    return vendor is not None and vendor.unpins.match(name) is not None
