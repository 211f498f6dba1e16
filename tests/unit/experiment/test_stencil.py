"""The stencil experiment: every point of every way against numpy, on one rank and on several, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Queue

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.experiment.devices import OpenDevice, open_device
from isthmus.experiment.options import Options
from isthmus.experiment.ranks import Ranks
from isthmus.experiment.rounds import Quota
from isthmus.experiment.sampling import Collected, Rules
from isthmus.experiment.stencil import plan
from isthmus.experiment.stencil_limits import Limits, Share, split
from isthmus.experiment.stencil_points import MEMORY_KINDS, METHODS, Point, grids, points_of
from isthmus.experiment.stencil_rank import Checksum, Room, StencilRank, reference
from isthmus.experiment.stencil_tile import ITERATIONS, Tile, check_cut
from isthmus.experiment.stencil_ways import Stopwatch, Workplace
from isthmus.record import GIB, MIB, Case

Doubles = npt.NDArray[np.float64]
QUOTA = Quota(warmups=0, least=2, most=2, seconds=0)
SIDE = 23
WAYS = [(method, memory) for method, memories in METHODS.items() for memory in memories]


class Neighbours(Ranks):
    """A rank among threads of this process, which hand each other what they would send over MPI."""

    def __init__(self, rank: int, queues: Sequence[tuple[Queue[Doubles], Queue[Doubles]]]) -> None:
        super().__init__()
        self.rank, self.count = rank, len(queues)
        self._queues = queues

    def barrier(self) -> None:
        pass

    def exchange(self, outgoing: Doubles, incoming: Doubles) -> None:
        left, right = (self.rank - 1) % self.count, (self.rank + 1) % self.count
        self._queues[left][1].put(outgoing[0].copy())
        self._queues[right][0].put(outgoing[1].copy())
        for part, queue in zip(incoming, self._queues[self.rank], strict=True):
            part[:] = queue.get(timeout=60)


def expected(side: int) -> Doubles:
    """The square after all iterations, with the additions in the same order."""
    rows, columns = np.indices((side, side))
    square: Doubles = ((rows + columns) % 3343).astype(np.float64)
    for _ in range(ITERATIONS):
        up, down = np.roll(square, 1, 0), np.roll(square, -1, 0)
        left, right = np.roll(square, 1, 1), np.roll(square, -1, 1)
        np.multiply(up + down + left + right, 0.25, out=square)
    return square


def contents(device: OpenDevice, array: _native.Buffer, tile: Tile) -> Doubles:
    """A rank's own points and its halos."""
    if array.kind == "device":
        host = device.native.allocate("pageable", array.bytes)
        stream = _native.Stream(device.native)
        stream.copy(host, 0, array, 0, array.bytes)
        stream.synchronize()
        array = host
    array.begin_host_access()
    grid = array.host_array().view(np.float64)[: tile.side * tile.width].reshape(tile.side, tile.width)
    found: Doubles = grid.copy()
    array.end_host_access()
    return found


@pytest.fixture(params=["host", "opencl:0"])
def device(request: pytest.FixtureRequest, skip_without: Callable[[str], None]) -> OpenDevice:
    skip_without(request.param)
    return open_device(request.param)


def measurable(device: OpenDevice, halo: int, side: int = SIDE) -> list[Point]:
    """All ways that the device knows."""
    planned = plan(device, Options(sides=[side], halos=[halo]), GIB)
    skipped = {(case.method, case.host_memory) for case in planned.skipped}
    return [Point(side, halo, *way) for way in WAYS if way not in skipped]


def computed(device: OpenDevice, point: Point, count: int) -> list[tuple[Tile, Doubles, Checksum]]:
    """What `count` ranks compute of the square, each with what it says of it."""
    queues = [(Queue[Doubles](), Queue[Doubles]()) for _ in range(count)]

    def part(rank: int) -> tuple[Tile, Doubles, Checksum]:
        ranks = Neighbours(rank, queues)
        own = StencilRank(device._replace(ranks=ranks), ranks)
        assert own.prepare([point]) == {}
        own.sample(point, True)
        assert own.result
        tile = Tile(point.side, point.halo, rank, count)
        return tile, contents(device, own.result, tile), own.checksum(point)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(part, range(count)))


@pytest.mark.parametrize(("count", "halo"), [(1, 1), (2, 1), (3, 4)])
def test_every_way_computes_every_point_as_numpy_does(device: OpenDevice, count: int, halo: int) -> None:
    points = measurable(device, halo)
    assert len(points) >= 9
    square = expected(SIDE)
    for point in points:
        found = computed(device, point, count)
        for tile, columns, _ in found:
            places = (tile.first_column + np.arange(tile.width)) % SIDE
            np.testing.assert_array_equal(columns, square[:, places], err_msg=str(point))
        assert sum(each.halos for _, _, each in found) % 2**64 == 0
        assert sum(each.points for _, _, each in found) % 2**64 == int(square.view(np.uint64).sum(dtype=np.uint64))


def test_the_reference_is_the_sum_of_the_words(device: OpenDevice) -> None:
    words = expected(SIDE).view(np.uint64)
    steps: list[int] = []
    found = reference(device.native, SIDE, lambda: steps.append(1))
    assert found == int(words.sum(dtype=np.uint64))
    assert len(steps) == ITERATIONS, "ranks that wait hear of every iteration"


def test_tiles_make_up_the_square() -> None:
    tiles = [Tile(23, 2, rank, 4) for rank in range(4)]
    assert [tile.columns for tile in tiles] == [6, 6, 6, 5]
    assert [(tile.first_column + tile.halo) % 23 for tile in tiles] == [0, 6, 12, 18]
    assert tiles[3].width == 9
    assert tiles[3].bytes == 23 * 9 * 8


def test_a_side_must_hold_the_halos_of_all_ranks() -> None:
    check_cut(8, 4, 2)
    with pytest.raises(UsageError, match=r"a side of 7 points is too short for halos of 4 columns on 2 ranks; .*8 or"):
        check_cut(7, 4, 2)


def cases(device: OpenDevice, halo: int = 1) -> list[Case]:
    """Every case of a small square after a visit each."""
    batch, release = plan(device, Options(sides=[SIDE], halos=[halo]), GIB).batches
    assert not release.subjects
    prepared = batch.prepare()
    found = [case for group in prepared.ended for case in group]
    for subject in prepared.subjects:
        collected = Collected(subject.template)
        subject.visit(QUOTA, collected)
        found += collected.cases(Rules(least_samples=2))
    return found


def test_a_sample_has_its_phases_and_mpi_beside_it(device: OpenDevice) -> None:
    found = cases(device)
    assert {case.verified for case in found} == {"yes"}
    for case in found:
        metrics = {series.metric for series in case.series}
        assert {"host_seconds", "compute_seconds", "pack_seconds", "unpack_seconds", "mpi_seconds"} <= metrics
        parts = [case.samples(metric) for metric in metrics - {"host_seconds", "mpi_seconds"}]
        for total, *phases in zip(case.samples("host_seconds"), *parts, strict=True):
            assert total == pytest.approx(sum(phases))
    assert {(case.ranks, case.halo, case.rows, case.bytes) for case in found} == {(1, 1, SIDE, SIDE * SIDE * 8)}


def test_halos_that_do_not_arrive_are_wrong_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workplace, "unpack_on_host", lambda *_: None)
    found = {(case.method, case.host_memory): case for case in cases(open_device("host"))}
    assert found["cpu_columns", "pageable"].verified == "no"
    assert "wrong data: after 20 iterations" in found["cpu_columns", "pageable"].note
    assert found["gpu_pack", "pinned"].verified == "yes"


def test_columns_of_a_halo_that_nobody_computes_with_must_arrive_too(monkeypatch: pytest.MonkeyPatch) -> None:
    unpack = Workplace.unpack_on_host

    def inner_column(at: Workplace, array: _native.Buffer, parts: Doubles) -> None:
        tile = at.tile
        grid = array.host_array().view(np.float64)[: tile.side * tile.width].reshape(tile.side, tile.width)
        before = grid.copy()
        unpack(at, array, parts)
        for outer in (slice(0, tile.halo - 1), slice(tile.width - tile.halo + 1, None)):
            grid[:, outer] = before[:, outer]

    monkeypatch.setattr(Workplace, "unpack_on_host", inner_column)
    found = {(case.method, case.host_memory): case for case in cases(open_device("host"), 4)}
    assert "the words of all halos differ from those that were sent" in found["cpu_columns", "pageable"].note
    assert found["cpu_columns", "pageable"].verified == "no"
    assert found["gpu_pack", "pinned"].verified == "yes"


def test_ranks_with_a_device_each_share_none_whatever_its_name() -> None:
    device = open_device("host")
    rooms = [
        StencilRank(
            device._replace(description=msgspec.structs.replace(device.description, pci_address=address)), Ranks()
        ).room()
        for address in ("0000:01:00.0", "0000:02:00.0")
    ]
    assert rooms[0].device != rooms[1].device
    assert StencilRank(device, Ranks()).room().device == "host"


def test_memory_is_given_back_after_the_last_square() -> None:
    device = open_device("host:memory=64MiB")
    before = device.native.free_bytes()
    batch, release = plan(device, Options(sides=[512], halos=[1]), GIB).batches
    batch.prepare()
    assert device.native.free_bytes() < before
    release.prepare()
    assert device.native.free_bytes() == before


def test_prefetching_needs_pages_that_move() -> None:
    device = open_device("host")
    skipped = {(case.method, case.host_memory): case.note for case in plan(device, Options(sides=[32]), GIB).skipped}
    why = device.native.why_no_prefetch()
    assert why
    assert skipped == {("cpu_whole", "managed"): why}


def test_a_stopwatch_adds_up_what_a_phase_takes() -> None:
    now = iter([1.0, 3.0, 4.0, 8.0])
    watch = Stopwatch(lambda: next(now))
    watch.lap("compute_seconds")
    watch.lap("pack_seconds")
    watch.lap("compute_seconds")
    assert watch.seconds == {"compute_seconds": 6.0, "pack_seconds": 1.0}


def test_wider_halos_are_for_the_shortest_side_by_default() -> None:
    assert grids(Options(), False) == [(1536, 1), (1536, 2), (1536, 4), (3072, 1), (6144, 1)]
    assert grids(Options(sides=[64, 32], halos=[2, 1]), False) == [(32, 1), (32, 2), (64, 1), (64, 2)]
    assert grids(Options(mode="quick"), True) == [(256, 1)]


def share(free: int, host: int = 64 * GIB, *, sharers: int = 2, is_host: bool = False) -> Share:
    return Share(free, sharers, free, host, is_host)


def test_the_paper_s_large_square_fits_two_ranks_on_one_h200() -> None:
    limits = Limits(share(139 * GIB), 61440, 1, 2)
    points = points_of(61440, 1, MEMORY_KINDS)
    assert [limits.why_not(point) for point in points] == [None] * len(points)
    # Not all at once: managed memory would exceed half of what explicit arrays leave.
    groups = split(points, limits)
    assert [{point.memory for point in group} for group in groups] == [{kind} for kind in MEMORY_KINDS[:2]] + [
        {"managed"},
        {"mapped"},
    ]


def test_small_squares_are_measured_all_at_once() -> None:
    limits = Limits(share(16 * GIB), 3072, 1, 2)
    points = points_of(3072, 1, MEMORY_KINDS)
    assert split(points, limits) == [points]


def test_managed_memory_takes_no_more_than_half_of_the_device() -> None:
    limits = Limits(share(100 * MIB), 2048, 1, 2)
    assert limits.why_not(Point(2048, 1, "gpu_pack", "pinned")) is None
    why = limits.why_not(Point(2048, 1, "gpu_pack", "managed"))
    assert why == (
        "two arrays for each of 2 ranks on the device, 64 MiB in all, exceeds half of the free device memory (50 MiB)"
    )


def test_what_the_host_has_no_room_for_is_left_out() -> None:
    limits = Limits(share(16 * GIB, 10 * MIB), 2048, 1, 2)
    assert "--memory-budget allows more" in (limits.why_not(Point(2048, 1, "cpu_columns", "pinned")) or "")
    assert limits.why_not(Point(2048, 1, "gpu_pack", "pinned")) is None


def test_the_device_with_the_least_room_for_each_rank_decides() -> None:
    rooms = [Room("a", "cuda:0", 90), Room("a", "cuda:0", 80), Room("b", "cuda:0", 60)]
    assert Share.of(rooms, 7, False)[:3] == (80, 2, 90)
