"""Sections of 2-D and 3-D arrays, moved by the driver's 2-D copy and by all that can take its place.

It answers what "How to Optimize Data Transfers in CUDA C/C++" (M. Harris, 2012) leaves at a mention of cudaMemcpy2D and
cudaMemcpy3D: what they cost, and from which width and number of rows on something else is faster.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from isthmus import _native
from isthmus.errors import OutOfMemory, Unsupported
from isthmus.experiment.engine.arena import PAGE_BYTES
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.blocks import over_budget
from isthmus.experiment.engine.buffers import page_shares
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.pieces import (
    LEAST_STAGING_BYTES,
    PieceSubject,
    Side,
    mapped_stands_in,
    packing_threads,
    staging_threads,
)
from isthmus.experiment.engine.sampling import reason_of, skipped_case
from isthmus.experiment.strided.sections import (
    Bounds,
    Section,
    SectionPoint,
    alignment_sections,
    bounds_of,
    grid_sections,
    known_sections,
    wide_sections,
)
from isthmus.machine.devices import OpenDevice
from isthmus.record import KIB, Case, Direction, format_bytes

_ENDS = ("source", "destination")


class SectionBuffers:
    """Per kind of memory an array that is read and one that is written, and memory to pack through, for all points.

    All that is read holds one pattern: what is written is overwritten before, so that nothing there can pass for it.
    """

    def __init__(self, points: Sequence[SectionPoint], device: _native.Device, threads: int, seed: int) -> None:
        """Allocate and fill. Raises an IsthmusError when the device or the machine lacks the memory."""
        sizes = _sizes(points)
        # Sources are compared with it, and pageable memory is one.
        self._reference = device.allocate("pageable", max(size for (_, end), size in sizes.items() if end == "source"))
        self._buffers = {
            (kind, end): device.allocate(kind, size)
            for (kind, end), size in sizes.items()
            if (kind, end) != ("pageable", "source")
        }
        self._buffers["pageable", "source"] = self._reference
        for (_, end), buffer in self._buffers.items():
            if end == "source":
                buffer.fill_pattern(0, buffer.bytes, seed)
        most = max(points, key=lambda point: point.section.bytes).section
        self._staging = _native.create_staging(device, most.bytes, threads, 1)

    def subject(self, template: Case, point: SectionPoint) -> PieceSubject:
        """The point's section, to be moved by the template's method."""
        source, destination = (
            Side(self._buffers[kind, end], point.section.device if kind == "device" else point.section.host)
            for end in _ENDS
            for kind in [_kind(point, end)]
        )
        return PieceSubject(template, destination, source, point.section.extent, self._reference, self._staging)

    def placement(self) -> dict[str, dict[str, float]]:
        """Share of each kind's pages on each NUMA node."""
        return page_shares(self._buffers.values())


def bytes_needed(points: Sequence[SectionPoint], shares_host_memory: bool) -> int:
    """Host memory for the buffers of all points; with the device's where device memory is host memory."""
    sizes = _sizes(points)
    read = max((size for (_, end), size in sizes.items() if end == "source"), default=0)
    held = sum(
        size
        for (kind, end), size in sizes.items()
        if (kind, end) != ("pageable", "source") and (kind != "device" or shares_host_memory)
    )
    # What was written is read back to be checked.
    checked = max((size for (_, end), size in sizes.items() if end == "destination"), default=0)
    packed = max((point.section.bytes for point in points), default=0)
    staging = max(packed, LEAST_STAGING_BYTES) if points else 0
    return read + held + checked + staging * (2 if shares_host_memory else 1)


def _sizes(points: Sequence[SectionPoint]) -> dict[tuple[str, str], int]:
    """Bytes of the largest array of each kind that is read, and that is written."""
    found: dict[tuple[str, str], int] = {}
    for point in points:
        for end in _ENDS:
            key = (_kind(point, end), end)
            found[key] = max(found.get(key, 0), _size(point, end))
    return found


def _kind(point: SectionPoint, end: str) -> str:
    return "device" if (end == "destination") == (point.direction == "h2d") else point.memory


def _size(point: SectionPoint, end: str) -> int:
    """Whole pages, with one after the last piece for what might be written beyond it."""
    place = point.section.device if _kind(point, end) == "device" else point.section.host
    last = place.offset + place.span_bytes(point.section.extent)
    return (-(-last // PAGE_BYTES) + 1) * PAGE_BYTES


NAME = "strided"
MEMORY_KINDS = ("pageable", "pinned")
DIRECTIONS: Sequence[Direction] = ("h2d", "d2h")
# Sizes are widths of rows.
# On an H200 the least number of samples of all default cases should take some 43 s: half of it checks of what lies
# between the rows, and a copy for each of thousands of rows.
_WIDTHS = (1, 8, 64, 256, KIB, 4 * KIB, 64 * KIB)
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort([8, KIB], 4.0, 0.1),
    "default": Effort(_WIDTHS, 46.0, 0.5),
    "full": Effort(_WIDTHS, 600.0, 2.0),
}


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Every section by every method that its layouts leave, of the chosen memory kinds and directions."""
    bounds = bounds_of(options.mode, device.description.shares_host_memory)
    possible, skipped = [], []
    for point in _points(device, options, bounds):
        reason = _why_not(point, device, options, bounds)
        if reason is None:
            possible.append(point)
        else:
            skipped.append(skipped_case(template(point), reason))
    most = _most_span_bytes(possible, memory_bytes, device.description.shares_host_memory)
    chosen = [point for point in possible if point.section.span_bytes <= most]
    skipped += [
        skipped_case(template(point), over_budget(memory_bytes))
        for point in possible
        if point.section.span_bytes > most
    ]
    if not chosen:
        return Planned([], skipped)
    return Planned([Batch(len(chosen), 1.0, partial(prepare, chosen, device, options))], skipped)


def _points(device: OpenDevice, options: Options, bounds: Bounds) -> Iterator[SectionPoint]:
    shared = device.description.shares_host_memory
    grid = list(grid_sections(options.effort(EFFORTS).sizes, options.mode, bounds))
    for memory in options.chosen(MEMORY_KINDS, options.memory):
        every = list(known_sections(options.mode, bounds))
        if not options.sizes:
            every += alignment_sections(options.mode)
            every += wide_sections(options.mode, shared) if memory == "pageable" else []
        for section, is_coarse in grid:
            one_side = "contiguous" in (section.host_layout, section.device_layout)
            if (
                options.mode == "full"
                or (memory == "pinned" and one_side)
                or (is_coarse and section.span_bytes <= bounds.coarse_span_bytes)
            ):
                every.append(section)
        for section in every:
            for direction in section.directions:
                if options.directions and direction not in options.directions:
                    continue
                for method in _methods(memory, section):
                    reached = _reached(device, memory) if method == "kernel" else memory
                    yield SectionPoint(reached, direction, method, section)


def _methods(memory: str, section: Section) -> list[str]:
    """The methods of native/transfer/pieces/piece_copy.hpp that the layouts allow; of one row the driver's own copy."""
    if section.rows == 1:
        return ["section"]
    found = ["section", "copies", "batch", "kernel"]
    if section.is_alike:
        found.append("whole")
    if section.host_layout == "contiguous":
        found.append("device_pack")
    if section.host_layout == "strided" or memory == "pageable":
        found += ["pack", "pack_threads", "pack_kernel"]
    return [method for method in found if method in section.methods] if section.methods else found


def _reached(device: OpenDevice, memory: str) -> str:
    """Where kernels do not reach what the driver pinned, what they do reach in its place."""
    return "mapped" if memory == "pinned" and mapped_stands_in(device.native) else memory


def _why_not(point: SectionPoint, device: OpenDevice, options: Options, bounds: Bounds) -> str | None:
    """Why a point is not measured, whatever the host's memory; None when it is."""
    reason = device.native.why_not(point.memory)
    if reason:
        return reason
    section = point.section
    if section.bytes > bounds.section_bytes:
        return f"asks for {format_bytes(section.bytes)}, beyond the {format_bytes(bounds.section_bytes)} of this mode"
    span = format_bytes(section.span_bytes >> 20 << 20)
    if section.known and section.span_bytes > bounds.known_span_bytes:
        why = "where device memory is host memory" if device.description.shares_host_memory else "with --quick"
        return f"its array takes {span}; {why}, at most {format_bytes(bounds.known_span_bytes)} are measured"
    written = section.device if point.direction == "h2d" else section.host
    if point.memory == "pageable" and written.span_bytes(section.extent) > bounds.pageable_span_bytes:
        return f"it writes across {span}, which takes long to check; --full measures it with pageable memory too"
    return _why_so_many_rows_not(point, device, options, bounds)


def _why_so_many_rows_not(point: SectionPoint, device: OpenDevice, options: Options, bounds: Bounds) -> str | None:
    section = point.section
    if packing_threads(point.method) and section.rows > bounds.evicted_rows:
        return f"emptying the caches of {section.rows} rows before each sample takes long; --full does"
    if point.method in ("copies", "batch") and section.rows > (bounds.known_calls if section.known else bounds.calls):
        most = bounds_of("full", device.description.shares_host_memory).calls
        more = f"; --full measures up to {most}" if options.mode != "full" and section.rows <= most else ""
        return f"a sample would take {section.rows} copies{more}"
    return None


def _most_span_bytes(points: Sequence[SectionPoint], memory_bytes: int, shares_host_memory: bool) -> int:
    """The largest arrays whose buffers fit into `memory_bytes`; 0 where none do."""
    for most in sorted({point.section.span_bytes for point in points}, reverse=True):
        fitting = [point for point in points if point.section.span_bytes <= most]
        if bytes_needed(fitting, shares_host_memory) <= memory_bytes:
            return most
    return 0


def template(point: SectionPoint) -> Case:
    """The case of a point, without results."""
    section = point.section
    host, on_device = section.host, section.device
    is_deep = section.extent.slices > 1
    return Case(
        experiment=NAME,
        method=point.method,
        direction=point.direction,
        host_memory=point.memory,
        bytes=section.bytes,
        moved_bytes=section.span_bytes if point.method == "whole" else section.bytes,
        threads=packing_threads(point.method),
        width_bytes=section.extent.width_bytes,
        rows=section.extent.rows,
        slices=section.extent.slices if is_deep else None,
        pitch_bytes=host.pitch_bytes,
        slice_pitch_bytes=host.slice_pitch_bytes if is_deep else None,
        device_pitch_bytes=on_device.pitch_bytes,
        device_slice_pitch_bytes=on_device.slice_pitch_bytes if is_deep else None,
        host_layout=section.host_layout,
        device_layout=section.device_layout,
    )


def prepare(points: Sequence[SectionPoint], device: OpenDevice, options: Options) -> Prepared:
    """Allocate and fill what the points need; those of the largest arrays end where memory does not suffice for them.

    Raises CallFailed when the device fails at more than the lack of memory.
    """
    ended: list[list[Case]] = []
    while points:
        try:
            buffers = SectionBuffers(points, device.native, staging_threads(), options.seed)
        except (OutOfMemory, Unsupported) as error:
            largest = max(point.section.span_bytes for point in points)
            ended += [
                [skipped_case(template(point), reason_of(error))]
                for point in points
                if point.section.span_bytes == largest
            ]
            points = [point for point in points if point.section.span_bytes < largest]
            continue
        subjects = [buffers.subject(template(point), point) for point in points]
        return Prepared(subjects, ended, buffers.placement())
    return Prepared([], ended)
