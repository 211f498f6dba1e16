"""Many small pieces and one column: what the driver takes a call or a row for each, and Isthmus takes all at once."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from finding import Finding, decided, shown
from transfer_bench import OURS, POISON, Bench, Case, best_of, difference
from transfer_driver import CudaDriver, DeviceArray
from transfer_native import BATCH, DRIVER, ISTHMUS, LOOP
from transfer_peers import Bytes
from transfer_turns import Contender, take_turns, timed

from isthmus.record import KIB, format_bytes

Addresses = npt.NDArray[np.uint64]
PIECE_BYTES = 4 * KIB
# Pieces lie in slots of their size drawn from twice as many.
PLACES = 2
IN_PYTHON, IN_C = "isthmus.copy_batch of arrays", "isthmus in C"
LOOPED, BATCHED, SECTION = "driver, loop", "driver, batch call", "driver, 2-D copy"
COLUMN_ROWS, COLUMN_PITCH, DOUBLE = 30720, 34952, 8
COLUMN_SECONDS = 18e-6
COLUMN_BAR = "<= 18 us"
# Copies of one sample, in a row, as halos are copied: of one alone, what it finds in the CPU's caches is half the time.
COLUMN_REPEATS = 16


class Pieces(NamedTuple):
    """One case: how many pieces which way, and the rate to reach."""

    number: int
    to_device: bool
    rate: float

    @property
    def name(self) -> str:
        """As --only takes it."""
        return f"pieces-{self.number}-{'h2d' if self.to_device else 'd2h'}"

    @property
    def bar(self) -> str:
        """As the table words it."""
        return f">= {self.rate:g} GB/s"


PIECES = tuple(Pieces(count, way, rate) for count, rate in ((65536, 44.0), (4096, 27.0)) for way in (True, False))


def measure_pieces(bench: Bench, pieces: Pieces) -> Finding:
    """Pieces of pageable memory at random places of either side, by one call and by a call for each."""
    size = PIECE_BYTES
    count = min(pieces.number, bench.source.size // size // PLACES)
    finding = Finding(
        f"{count} x {format_bytes(size)} scattered -> scattered, {'h2d' if pieces.to_device else 'd2h'}",
        pieces.bar,
        bytes=count * size,
    )
    places = np.random.default_rng(bench.order.randrange(2**32))
    host_at, device_at = (places.permutation(count * PLACES)[:count].astype(np.uint64) * size for _ in range(2))
    span = count * PLACES * size
    device = bench.native.device(span)
    host = bench.source if pieces.to_device else bench.sink
    on_host, on_device = host_at + np.uint64(host.ctypes.data), device_at + np.uint64(device)
    destinations, sources = (on_device, on_host) if pieces.to_device else (on_host, on_device)
    sizes = np.full(count, size, np.uint64)

    def whole(to_device: bool, memory: Bytes) -> None:
        bench.native.copy(DRIVER, to_device, device, memory.ctypes.data, span)

    def check(way: Callable[[int], float]) -> str:
        # Also what lies between the pieces must be as it was.
        arrived = bench.sink[:span]
        arrived[:] = POISON
        whole(True, arrived if pieces.to_device else bench.source)
        way(0)
        if pieces.to_device:
            whole(False, arrived)
        expected = np.full((count * PLACES, size), POISON, np.uint8)
        rows = bench.source[:span].reshape(-1, size)
        places = [(at // size).astype(np.int64) for at in (device_at, host_at)]
        to, start = places if pieces.to_device else reversed(places)
        expected[to] = rows[start]
        return difference(arrived, expected.reshape(-1))

    def contender(name: str, once: Callable[[int], float]) -> Contender:
        return Contender(name, once, partial(check, once))

    ways = [(OURS, ISTHMUS), (LOOPED, LOOP), (BATCHED, BATCH)]
    contenders = [
        contender(name, lambda _, way=way: bench.native.pieces(way, pieces.to_device, destinations, sources, sizes))  # type: ignore[misc]
        for name, way in ways
    ]
    if isinstance(bench.driver, CudaDriver):
        arrays: tuple[list[object], list[object]] = (
            [host[at : at + size] for at in host_at.tolist()],
            [DeviceArray(at, (size,)) for at in on_device.tolist()],
        )
        to, start = (arrays[1], arrays[0]) if pieces.to_device else arrays
        contenders.append(contender(IN_PYTHON, lambda _: timed(partial(bench.session.copy_batch, to, start))))
    turns = finding.turns = take_turns(contenders, bench.seconds, bench.order)
    ours = turns.seconds(OURS)
    finding.best_peer = best_of(turns, (LOOPED, BATCHED), finding.bytes)
    if ours is None:
        finding.why_not = turns.left_out[OURS]
        return finding
    finding.measured = shown(ours, finding.bytes)
    return decided(finding, finding.bytes / ours / 1e9 >= pieces.rate, bench.meaningless)


def measure_column(bench: Bench, pinned: bool) -> Finding:
    """The first of every 4369 doubles of a row-major array on the device, to the host side by side."""
    rows = min(COLUMN_ROWS, bench.source.size // COLUMN_PITCH)
    finding = Finding(f"column of {rows} doubles d2h, to {'pinned' if pinned else 'pageable'} memory", COLUMN_BAR)
    span = rows * COLUMN_PITCH
    cuda = isinstance(bench.driver, CudaDriver)
    # The library's own, lest reading another library's protocol is timed.
    array = bench.session.empty((rows, COLUMN_PITCH // DOUBLE), np.float64) if cuda else None
    device = array.__cuda_array_interface__["data"][0] if array is not None else bench.native.device(span)
    bench.native.copy(DRIVER, True, device, bench.source.ctypes.data, span)
    host = (bench.pinned if pinned else bench.sink)[: rows * DOUBLE]
    at = np.arange(rows)[:, None] * COLUMN_PITCH + np.arange(DOUBLE)
    expected = bench.source[at.reshape(-1)]

    def contender(name: str, once: Callable[[int], float]) -> Contender:
        def check() -> str:
            host[:] = POISON
            once(0)
            return difference(host, expected)

        return Contender(name, once, check)

    def in_c(ours: bool, _: int) -> float:
        return bench.native.column(ours, host.ctypes.data, device, DOUBLE, rows, COLUMN_PITCH, COLUMN_REPEATS)

    contenders = [contender(IN_C, partial(in_c, True)), contender(SECTION, partial(in_c, False))]
    if array is not None:
        copy = partial(bench.session.copy, host.view("<f8"), array[:, 0])
        contenders.append(contender(OURS, lambda _: timed(copy, COLUMN_REPEATS)))
        contenders += _torch_column(bench, device, rows, host, contender)
    turns = finding.turns = take_turns(contenders, bench.seconds / 2, bench.order)
    finding.best_peer = best_of(turns, [name for name in turns.samples if name not in (OURS, IN_C)])
    # From Python, as users of torch do; where its arrays have no strides, from C.
    from_python, from_c = turns.seconds(OURS), turns.seconds(IN_C)
    if from_c is None or (from_python is None and cuda):
        finding.why_not = "; ".join(f"{name}: {why}" for name, why in turns.left_out.items())
        return finding
    finding.measured = f"{shown(from_python)} from Python, {shown(from_c)} from C" if from_python else shown(from_c)
    return decided(finding, (from_python or from_c) <= COLUMN_SECONDS, bench.meaningless)


def _torch_column(
    bench: Bench, device: int, rows: int, host: Bytes, contender: Callable[[str, Callable[[int], float]], Contender]
) -> list[Contender]:
    """By torch on the same device memory, where there is torch."""
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]

        array = DeviceArray(device, (rows, COLUMN_PITCH // DOUBLE), "<f8")
        column = torch.as_tensor(array, device=f"cuda:{bench.device.description.index}")[:, 0]
        into = torch.from_numpy(host.view("<f8"))
    except Exception:
        return []

    def copy(_: int) -> float:
        return timed(lambda: into.copy_(column), COLUMN_REPEATS)

    def fetch(_: int) -> float:
        fetched: list[Any] = []
        seconds = timed(lambda: fetched.append(column.cpu()), COLUMN_REPEATS)
        host.view("<f8")[:] = fetched[-1].numpy()
        return seconds

    return [contender("torch copy_", copy), contender("torch .cpu()", fetch)]


def cases() -> dict[str, Case]:
    """The cases by the names that --only takes."""
    found = {pieces.name: Case(pieces.bar, partial(measure_pieces, pieces=pieces)) for pieces in PIECES}
    for memory in ("pinned", "pageable"):
        found[f"column-{memory}"] = Case(COLUMN_BAR, partial(measure_column, pinned=memory == "pinned"))
    return found
