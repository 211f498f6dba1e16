"""Sections of 2-D and 3-D arrays, moved by the driver's 2-D copy and by all that can take its place.

It answers what "How to Optimize Data Transfers in CUDA C/C++" (M. Harris, 2012) leaves at a mention of cudaMemcpy2D and
cudaMemcpy3D: what they cost, and from which width and number of rows on something else is faster.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from isthmus import _native
from isthmus.experiment.engine.buffers import PAGE_BYTES
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.pieces import (
    LEAST_STAGING_BYTES,
    Side,
    mapped_stands_in,
    moving,
    packing_threads,
    staging_threads,
)
from isthmus.experiment.engine.sweep import Bench, Start, Sweep
from isthmus.experiment.strided.sections import (
    Section,
    alignment_sections,
    bounds_of,
    grid_sections,
    known_sections,
    wide_sections,
)
from isthmus.machine.devices import OpenDevice
from isthmus.record import KIB, Case, Direction, format_bytes

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


_ENDS = ("source", "destination")


def case_of(method: str, memory: str, direction: Direction, section: Section) -> Case:
    """A section that one method moves, without results."""
    host, on_device = section.host, section.device
    is_deep = section.extent.slices > 1
    return Case(
        experiment=NAME,
        method=method,
        direction=direction,
        host_memory=memory,
        bytes=section.bytes,
        moved_bytes=section.span_bytes if method == "whole" else section.bytes,
        threads=packing_threads(method),
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


class StridedSweep(Sweep):
    """Sections of a grid, and such as programs have, by every method."""

    def __init__(self, device: OpenDevice, options: Options, memory_bytes: int) -> None:
        super().__init__(device, options, memory_bytes)
        self._bounds = bounds_of(options.mode, self.shares_host_memory)
        self._known = known_sections(options.mode, self._bounds)

    def cases(self) -> Iterator[Case]:
        """Those that programs have first."""
        mode, sizes = self.options.mode, self.options.sizes
        grid = list(grid_sections(self.sizes(EFFORTS), mode, self._bounds))
        for memory in self.options.chosen(MEMORY_KINDS, self.options.memory):
            every = list(self._known)
            if not sizes:
                every += alignment_sections(mode)
                every += wide_sections(mode, self.shares_host_memory) if memory == "pageable" else []
            for section, is_coarse in grid:
                one_side = "contiguous" in (section.host_layout, section.device_layout)
                if (
                    mode == "full"
                    or (memory == "pinned" and one_side)
                    or (is_coarse and section.span_bytes <= self._bounds.coarse_span_bytes)
                ):
                    every.append(section)
            for section in every:
                for direction in section.directions:
                    if not self.options.directions or direction in self.options.directions:
                        for method in _methods(memory, section):
                            yield case_of(method, self._reached(memory, method), direction, section)

    def _reached(self, memory: str, method: str) -> str:
        """Where kernels do not reach what the driver pinned, what they do reach in its place."""
        return "mapped" if (method, memory) == ("kernel", "pinned") and mapped_stands_in(self.native) else memory

    def why_not(self, case: Case) -> str | None:
        """Whatever the host's memory allows, which `groups` looks after."""
        if reason := self.native.why_not(case.host_memory):
            return reason
        section, bounds = Section.of(case), self._bounds
        if section.bytes > bounds.section_bytes:
            return (
                f"asks for {format_bytes(section.bytes)}, beyond the {format_bytes(bounds.section_bytes)} of this mode"
            )
        span = format_bytes(section.span_bytes >> 20 << 20)
        is_known = any(section[:3] == known[:3] for known in self._known)
        if is_known and section.span_bytes > bounds.known_span_bytes:
            why = "where device memory is host memory" if self.shares_host_memory else "with --quick"
            return f"its array takes {span}; {why}, at most {format_bytes(bounds.known_span_bytes)} are measured"
        written = section.device if case.direction == "h2d" else section.host
        if case.host_memory == "pageable" and written.span_bytes(section.extent) > bounds.pageable_span_bytes:
            return f"it writes across {span}, which takes long to check; --full measures it with pageable memory too"
        return self._why_not_so_many_rows(case, section, is_known)

    def _why_not_so_many_rows(self, case: Case, section: Section, is_known: bool) -> str | None:
        bounds = self._bounds
        if packing_threads(case.method) and section.rows > bounds.evicted_rows:
            return f"emptying the caches of {section.rows} rows before each sample takes long; --full does"
        if case.method in ("copies", "batch") and section.rows > (bounds.known_calls if is_known else bounds.calls):
            most = bounds_of("full", self.shares_host_memory).calls
            more = f"; --full measures up to {most}" if self.options.mode != "full" and section.rows <= most else ""
            return f"a sample would take {section.rows} copies{more}"
        return None

    def groups(self, cases: Sequence[Case]) -> Sequence[Sequence[Case]]:
        """All together, but for the largest arrays, whose buffers would exceed the run's memory."""
        for most in sorted(set(map(self.size, cases)), reverse=True):
            fitting = [case for case in cases if self.size(case) <= most]
            if bytes_needed(fitting, self.shares_host_memory) <= self.memory_bytes:
                return [fitting]
        return []

    def size(self, case: Case) -> int:
        """What the rows span."""
        return Section.of(case).span_bytes

    def prepare(self, cases: Sequence[Case]) -> Bench:
        """Allocate an array of each kind that is read and one that is written, for all cases, and memory to pack in.

        All that is read holds one pattern, and what is written is overwritten before, so that nothing can pass for it.
        """
        sizes = _sizes((case, Section.of(case)) for case in cases)
        # Sources are compared with it, and pageable memory is one.
        reference = self.native.allocate("pageable", max(size for (_, end), size in sizes.items() if end == "source"))
        buffers = {
            (kind, end): self.native.allocate(kind, size)
            for (kind, end), size in sizes.items()
            if (kind, end) != ("pageable", "source")
        }
        buffers["pageable", "source"] = reference
        for (_, end), buffer in buffers.items():
            if end == "source":
                buffer.fill_pattern(0, buffer.bytes, self.seed)
        staging = _native.create_staging(self.native, max(case.bytes for case in cases), staging_threads(), 1)

        def start(case: Case) -> Start:
            section = Section.of(case)
            source, destination = (
                Side(buffers[kind, end], section.device if kind == "device" else section.host)
                for end in _ENDS
                for kind in [_kind(case, end)]
            )
            return moving(case.method, destination, source, section.extent, reference, staging)

        return Bench(start, buffers.values)


SWEEP = StridedSweep
plan = StridedSweep.plan


def _methods(memory: str, section: Section) -> list[str]:
    """The methods of native/transfer/pieces/piece_copy.hpp that the layouts allow; of one row the driver's own copy."""
    if section.rows == 1:
        return ["section"]
    methods = ["section", "copies", "batch", "kernel"]
    if section.is_alike:
        methods.append("whole")
    if section.host_layout == "contiguous":
        methods.append("device_pack")
    if section.host_layout == "strided" or memory == "pageable":
        methods += ["pack", "pack_threads", "pack_kernel"]
    return [method for method in methods if method in section.methods] if section.methods else methods


def bytes_needed(cases: Sequence[Case], shares_host_memory: bool) -> int:
    """Host memory for the buffers of all cases; with the device's where device memory is host memory."""
    sizes = _sizes((case, Section.of(case)) for case in cases)
    read = max((size for (_, end), size in sizes.items() if end == "source"), default=0)
    held = sum(
        size
        for (kind, end), size in sizes.items()
        if (kind, end) != ("pageable", "source") and (kind != "device" or shares_host_memory)
    )
    # What was written is read back to be checked.
    checked = max((size for (_, end), size in sizes.items() if end == "destination"), default=0)
    packed = max((case.bytes for case in cases), default=0)
    staging = max(packed, LEAST_STAGING_BYTES) if cases else 0
    return read + held + checked + staging * (2 if shares_host_memory else 1)


def _sizes(sections: Iterable[tuple[Case, Section]]) -> dict[tuple[str, str], int]:
    """Bytes of the largest array of each kind that is read, and that is written."""
    sizes: dict[tuple[str, str], int] = {}
    for case, section in sections:
        for end in _ENDS:
            kind = _kind(case, end)
            place = section.device if kind == "device" else section.host
            # Whole pages, with one after the last piece for what might be written beyond it.
            pages = -(-(place.offset + place.span_bytes(section.extent)) // PAGE_BYTES) + 1
            sizes[kind, end] = max(sizes.get((kind, end), 0), pages * PAGE_BYTES)
    return sizes


def _kind(case: Case, end: str) -> str:
    return "device" if (end == "destination") == (case.direction == "h2d") else case.host_memory
