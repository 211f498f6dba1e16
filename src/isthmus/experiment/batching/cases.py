"""Many small pieces between host memory and the device, by every method that there is for them.

NVIDIA's guideline (M. Harris, How to Optimize Data Transfers in CUDA C/C++, 2012) is to batch many small transfers into
one. This measures from how many pieces of what size on that pays, and which way to do it is the fastest.
"""

from collections.abc import Iterator, Mapping, Sequence

from isthmus import _native
from isthmus.errors import IsthmusError
from isthmus.experiment.batching.grid import SIZES, alignment_cells, cells, cliff_cells, pairs, threaded_cells, too_many
from isthmus.experiment.engine.blocks import over_budget
from isthmus.experiment.engine.options import Effort, ModeName, Options
from isthmus.experiment.engine.piece_buffers import Cell, PieceBuffers, Setting, bytes_needed
from isthmus.experiment.engine.pieces import mapped_stands_in, packing_threads, staging_threads
from isthmus.experiment.engine.sampling import reason_of
from isthmus.experiment.engine.sweep import Bench, Sweep
from isthmus.machine.devices import OpenDevice
from isthmus.record import Case, Direction

NAME = "batching"
MEMORY_KINDS = ("pageable", "pinned")
DIRECTIONS: Sequence[Direction] = ("h2d", "d2h")
METHODS = ("waited_copies", "copies", "batch", "graph", "kernel", "device_pack", "pack", "pack_threads", "pack_kernel")
# On an H200 the least number of samples of all default cases should take some 43 s: loops, graphs and batches
# of 4096 pieces, and checks, which look at regions twice as large as the pieces. With --full, loops over 65536
# pieces take most of it.
EFFORTS: Mapping[ModeName, Effort] = {
    "quick": Effort(SIZES["quick"], 5.0, 0.1),
    "default": Effort(SIZES["default"], 46.0, 0.5),
    "full": Effort(SIZES["full"], 480.0, 2.0),
}
# What shows whether a method can do a setting at all.
_PROBED = Cell(64, 2)


def case_of(method: str, setting: Setting, cell: Cell) -> Case:
    """One method at one point of one surface, without results; a cell of no pieces represents all of them."""
    strides = [2 * cell.piece_bytes if layout == "strided" and cell.pieces else None for layout in setting.layouts]
    return Case(
        experiment=NAME,
        method=method,
        direction=setting.direction,
        host_memory=setting.memory,
        bytes=cell.bytes,
        threads=packing_threads(method),
        pieces=cell.pieces or None,
        width_bytes=cell.piece_bytes or None,
        stride_bytes=strides[0],
        device_pitch_bytes=strides[1],
        host_layout=setting.host_layout,
        device_layout=setting.device_layout,
    )


def _setting(case: Case) -> Setting:
    return Setting(case.direction or "h2d", case.host_memory, case.host_layout, case.device_layout)


def _cell(case: Case) -> Cell:
    return Cell(case.width_bytes or 0, case.pieces or 0)


class BatchingSweep(Sweep):
    """Every method in every setting, each on its grid of cells."""

    def __init__(self, device: OpenDevice, options: Options, memory_bytes: int) -> None:
        super().__init__(device, options, memory_bytes)
        kinds: list[str] = list(options.chosen(MEMORY_KINDS, options.memory))
        if "pinned" in kinds and mapped_stands_in(self.native):
            kinds.append("mapped")
        self._kinds = len(kinds)
        directions = options.chosen(DIRECTIONS, options.directions)
        settings = [Setting(each, kind, *pair) for pair in pairs(options.mode) for kind in kinds for each in directions]
        self._methods = [
            (method, setting)
            for setting in settings
            for method in (("kernel",) if setting.memory == "mapped" else METHODS)
        ]
        self._refused = self._refusals()

    def _refusals(self) -> dict[tuple[str, Setting], str]:
        """What the device or the layouts rule out whatever the pieces are, with the core's reasons for two of them."""
        refused: dict[tuple[str, Setting], str] = {}
        buffers: dict[str, PieceBuffers | str] = {}
        try:
            staging: _native.Staging | str = _native.create_staging(self.native, _PROBED.bytes, 1, _PROBED.pieces)
        except IsthmusError as error:
            staging = reason_of(error)
        for method, setting in self._methods:
            if setting.memory not in buffers:
                buffers[setting.memory] = self._try_buffers(setting.memory)
            memory = buffers[setting.memory]
            if isinstance(memory, str) or isinstance(staging, str):
                reason: str | None = memory if isinstance(memory, str) else str(staging)
            else:
                reason = memory.why_not(method, setting, _PROBED, staging)
            if reason:
                refused[method, setting] = reason
        return refused

    def _try_buffers(self, kind: str) -> PieceBuffers | str:
        if reason := self.native.why_not(kind):
            return reason
        try:
            return PieceBuffers(self.native, [kind], _PROBED.bytes, 0)
        except IsthmusError as error:
            return reason_of(error)

    def cases(self) -> Iterator[Case]:
        """One case for each method that a setting rules out, then those of the grids."""
        yield from (case_of(method, setting, Cell(0, 0)) for method, setting in self._refused)
        options, shared = self.options, self.shares_host_memory
        for method, setting in self._methods:
            if (method, setting) in self._refused:
                continue
            grid = cells(setting.layouts, options.mode, options.sizes, shared)
            if method == "batch":
                grid += cliff_cells(setting.layouts, options.mode, options.sizes, shared)
            grid += threaded_cells(setting, options.mode, options.sizes, shared)
            grid += alignment_cells(method, setting, options.mode, options.sizes)
            # One copy is waited for in any case.
            alone = method == "waited_copies"
            yield from (case_of(method, setting, cell) for cell in grid if cell.pieces > 1 or not alone)

    def why_not(self, case: Case) -> str | None:
        """By method and setting, by the memory, and by the time of the mode."""
        if not case.pieces:
            return self._refused[case.method, _setting(case)]
        if bytes_needed(case.bytes, self._kinds, self.shares_host_memory) > self.memory_bytes:
            return over_budget(self.memory_bytes)
        return too_many(case.method, _setting(case), _cell(case), self.options.mode)

    def prepare(self, cases: Sequence[Case]) -> Bench:
        """Allocate for the largest cells."""
        kinds, most = list(dict.fromkeys(case.host_memory for case in cases)), max(case.bytes for case in cases)
        buffers = PieceBuffers(self.native, kinds, most, self.seed)
        pieces = max(case.pieces or 0 for case in cases)
        staging = _native.create_staging(self.native, most, staging_threads(), pieces)
        return Bench(
            lambda case: buffers.moving(case.method, _setting(case), _cell(case), staging), buffers.host_buffers
        )


plan = BatchingSweep.plan
