"""The stencil experiment: every point of every way against numpy, on one rank and on several, and what is left out."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Queue

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Collected, Rules
from isthmus.experiment.mpi.ranks import Ranks
from isthmus.experiment.stencil.cases import Limits, Share, plan
from isthmus.experiment.stencil.exchange import Stopwatch, Workplace
from isthmus.experiment.stencil.points import (
    ITERATIONS,
    MEMORY_KINDS,
    METHODS,
    Cut,
    HaloPoint,
    Tile,
    as_square,
    cuts,
    points_of,
)
from isthmus.experiment.stencil.rank import Room, StencilRank
from isthmus.experiment.stencil.sums import Checksum, reference
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.record import GIB, MIB, Case

Doubles = npt.NDArray[np.float64]
QUOTA = Quota(warmups=0, least=2, most=2, seconds=0)
SIDE = 23
WAYS = [(method, memory) for method, memories in METHODS.items() for memory in memories]


class Neighbours(Ranks):
    """A rank among threads of this process, which hand each other what they would send over MPI."""

    def __init__(self, rank: int, queues: Sequence[Sequence[Queue[Doubles]]]) -> None:
        super().__init__()
        self.rank, self.count = rank, len(queues)
        self._queues = queues

    def barrier(self) -> None:
        pass

    def exchange(self, outgoing: Sequence[Doubles], incoming: Sequence[Doubles], neighbours: Sequence[int]) -> None:
        for side, (part, neighbour) in enumerate(zip(outgoing, neighbours, strict=True)):
            self._queues[neighbour][side ^ 1].put(part.copy())
        for part, queue in zip(incoming, self._queues[self.rank], strict=False):
            part[:] = queue.get(timeout=60)


def expected(rows: int, columns: int) -> Doubles:
    """The field after all iterations, with the additions in the same order."""
    down, across = np.indices((rows, columns))
    field: Doubles = ((down + across) % 3343).astype(np.float64)
    for _ in range(ITERATIONS):
        above, below = np.roll(field, 1, 0), np.roll(field, -1, 0)
        left, right = np.roll(field, 1, 1), np.roll(field, -1, 1)
        np.multiply(above + below + left + right, 0.25, out=field)
    return field


def words_of(field: Doubles) -> int:
    return int(field.view(np.uint64).sum(dtype=np.uint64))


def contents(device: OpenDevice, array: _native.Buffer, tile: Tile) -> Doubles:
    """A rank's own points and its halos."""
    if array.kind == "device":
        host = device.native.allocate("pageable", array.bytes)
        stream = _native.Stream(device.native)
        stream.copy(host, 0, array, 0, array.bytes)
        stream.synchronize()
        array = host
    array.begin_host_access()
    grid = array.host_array().view(np.float64)[: tile.height * tile.width].reshape(tile.height, tile.width)
    found: Doubles = grid.copy()
    array.end_host_access()
    return found


def measurable(device: OpenDevice, cut: Cut) -> list[HaloPoint]:
    """All ways that the device knows."""
    planned = plan(device, Options(sides=[SIDE], halos=[cut.halo]), GIB)
    skipped = {(case.method, case.host_memory) for case in planned.skipped}
    return [HaloPoint(cut, *way) for way in WAYS if way not in skipped]


def computed(device: OpenDevice, point: HaloPoint) -> list[tuple[Tile, Doubles, Checksum]]:
    """What the ranks compute of the field, each with what it says of it."""
    count = point.cut.ranks
    queues = [[Queue[Doubles]() for _ in range(4)] for _ in range(count)]

    def part(rank: int) -> tuple[Tile, Doubles, Checksum]:
        ranks = Neighbours(rank, queues)
        own = StencilRank(device, ranks)
        assert own.prepare([point]) == {}
        own.sample(point, True)
        assert own.result
        tile = point.cut.tile(rank)
        return tile, contents(device, own.result, tile), own.checksum(point)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(part, range(count)))


@pytest.mark.parametrize(
    "cut",
    [
        Cut(SIDE, SIDE, 1),
        Cut(SIDE, SIDE, 1, 1, 2),
        Cut(SIDE, SIDE, 4, 1, 3),
        Cut(SIDE, 2 * SIDE, 1, 1, 2),
        Cut(SIDE, SIDE, 1, 2, 1),
        Cut(SIDE, SIDE, 3, 2, 2),
        Cut(2 * SIDE, SIDE, 1, 3, 2),
    ],
    ids=str,
)
def test_every_way_computes_every_point_as_numpy_does(device: OpenDevice, cut: Cut) -> None:
    points = measurable(device, cut)
    assert len(points) >= 9
    field = expected(cut.rows, cut.columns)
    for point in points:
        found = computed(device, point)
        for tile, array, _ in found:
            rows = (tile.first_row + np.arange(tile.height)) % cut.rows
            columns = (tile.first_column + np.arange(tile.width)) % cut.columns
            # Nobody needs corners, which belong to no neighbour of four.
            places = np.ones(array.shape, bool)
            if tile.row_halo:
                ends = [*range(cut.halo), *range(-cut.halo, 0)]
                places[np.ix_(ends, ends)] = False
            truth = field[np.ix_(rows, columns)]
            np.testing.assert_array_equal(array[places], truth[places], err_msg=str((point, tile.rank)))
        assert sum(each.halos for _, _, each in found) % 2**64 == 0
        assert sum(each.points for _, _, each in found) % 2**64 == words_of(field)


@pytest.mark.parametrize(("rows", "columns"), [(SIDE, SIDE), (2 * SIDE, SIDE), (SIDE, 90)])
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("band", [1, 7, 10**6])
def test_the_reference_is_the_sum_of_the_words_however_it_is_shared(
    device: OpenDevice, rows: int, columns: int, ranks: int, band: int
) -> None:
    most_bytes = 2 * rows * 8 * (band + 2 * ITERATIONS)
    shares = [reference(device.native, Cut(rows, columns, 1), rank, ranks, most_bytes) for rank in range(ranks)]
    assert sum(shares) % 2**64 == words_of(expected(rows, columns))


def test_tiles_make_up_the_square() -> None:
    tiles = [Cut(23, 23, 2, 1, 4).tile(rank) for rank in range(4)]
    assert [tile.own.columns for tile in tiles] == [6, 6, 6, 5]
    assert [(tile.first_column + 2) % 23 for tile in tiles] == [0, 6, 12, 18]
    assert tiles[3].width == 9
    assert tiles[3].bytes == 23 * 9 * 8


@pytest.mark.parametrize("cut", [Cut(23, 23, 2, 3, 2), Cut(10, 31, 1, 4, 3), Cut(7, 7, 1, 7, 1)], ids=str)
def test_tiles_of_a_grid_cover_every_point_once_and_meet_at_their_borders(cut: Cut) -> None:
    covered = np.zeros((cut.rows, cut.columns), int)
    tiles = [cut.tile(rank) for rank in range(cut.ranks)]
    for tile in tiles:
        row, column = tile.first_row + tile.row_halo, tile.first_column + cut.halo
        covered[row : row + tile.own.rows, column : column + tile.own.columns] += 1
        assert tile.bytes <= tiles[0].bytes
        for side, border in enumerate(tile.borders):
            other = tiles[border.neighbour]
            opposite = other.borders[side ^ 1]
            assert opposite.neighbour == tile.rank
            assert opposite.edge[2:] == border.halo[2:]
            # The same points of the field.
            for mine, theirs in ((border.halo, opposite.edge), (border.edge, opposite.halo)):
                assert (tile.first_row + mine.row - other.first_row - theirs.row) % cut.rows == 0
                assert (tile.first_column + mine.column - other.first_column - theirs.column) % cut.columns == 0
    assert (covered == 1).all()


def test_a_grid_of_ranks_is_as_square_as_can_be() -> None:
    found = {count: as_square(count) for count in (1, 2, 3, 4, 6, 7, 8, 12, 16, 36, 1000)}
    assert found == {
        1: (1, 1),
        2: (2, 1),
        3: (3, 1),
        4: (2, 2),
        6: (3, 2),
        7: (7, 1),
        8: (4, 2),
        12: (4, 3),
        16: (4, 4),
        36: (6, 6),
        1000: (40, 25),
    }


@pytest.mark.parametrize(
    ("options", "ranks", "least"),
    [(Options(halos=[4]), 2, 8), (Options(halos=[4], cuts=["grid"]), 4, 8), (Options(halos=[4], cuts=["grid"]), 6, 12)],
)
def test_a_side_must_hold_the_halos_of_all_ranks(options: Options, ranks: int, least: int) -> None:
    for cut in cuts(options._replace(sides=[least]), False, ranks):
        assert min(tile.own.columns for tile in map(cut.tile, range(cut.ranks))) >= 4
        assert cut.down == 1 or min(tile.own.rows for tile in map(cut.tile, range(cut.ranks))) >= 4
    short = f"a side of {least - 1} points is too short for halos of 4 columns on {ranks} ranks"
    with pytest.raises(UsageError, match=f"{short}; expected --side {least} or more"):
        cuts(options._replace(sides=[least - 1]), False, ranks)


def cases(device: OpenDevice, halo: int = 1, iterations: int | None = None) -> list[Case]:
    """Every case of a small square after a visit each."""
    options = Options(sides=[SIDE], halos=[halo], iterations=iterations)
    batch, release = plan(device, options, GIB).batches
    assert not release.cases
    prepared = batch.prepare()
    found = [case for group in prepared.ended for case in group]
    for subject in prepared.subjects:
        collected = Collected(subject.template)
        subject.visit(QUOTA, collected)
        found += collected.cases(Rules(least_samples=2))
    return found


@pytest.mark.parametrize("iterations", [1, 3])
def test_samples_of_fewer_iterations_come_out_as_computed(device: OpenDevice, iterations: int) -> None:
    of_fewer = cases(device, iterations=iterations)
    assert {(case.iterations, case.verified) for case in of_fewer} == {(iterations, "yes")}


def test_a_sample_has_its_phases_and_mpi_beside_it(device: OpenDevice) -> None:
    found = cases(device)
    assert {case.verified for case in found} == {"yes"}
    for case in found:
        metrics = {series.metric for series in case.series}
        assert {"host_seconds", "compute_seconds", "pack_seconds", "unpack_seconds", "mpi_seconds"} <= metrics
        parts = [case.samples(metric) for metric in metrics - {"host_seconds", "mpi_seconds", "elapsed_seconds"}]
        for total, *phases in zip(case.samples("host_seconds"), *parts, strict=True):
            assert total == pytest.approx(sum(phases))
        waited = zip(case.samples("host_seconds"), case.samples("mpi_seconds"), strict=True)
        assert case.samples("elapsed_seconds") == pytest.approx([total + mpi for total, mpi in waited])
    assert {(case.ranks, case.halo, case.rows, case.bytes) for case in found} == {(1, 1, SIDE, SIDE * SIDE * 8)}


def test_halos_that_do_not_arrive_are_wrong_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workplace, "unpack_on_host", lambda *_: None)
    found = {(case.method, case.host_memory): case for case in cases(open_device("host"))}
    assert found["cpu_columns", "pageable"].verified == "no"
    assert "wrong data: after 20 iterations" in found["cpu_columns", "pageable"].note
    assert found["gpu_pack", "pinned"].verified == "yes"


def test_columns_of_a_halo_that_nobody_computes_with_must_arrive_too(monkeypatch: pytest.MonkeyPatch) -> None:
    unpack = Workplace.unpack_on_host

    def inner_column(at: Workplace, array: _native.Buffer, parts: Sequence[Doubles]) -> None:
        tile, halo = at.tile, at.tile.cut.halo
        grid = array.host_array().view(np.float64)[: tile.height * tile.width].reshape(tile.height, tile.width)
        before = grid.copy()
        unpack(at, array, parts)
        for outer in (slice(0, halo - 1), slice(tile.width - halo + 1, None)):
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


def test_a_stopwatch_adds_up_what_a_phase_takes() -> None:
    now = iter([1.0, 3.0, 4.0, 8.0])
    watch = Stopwatch(lambda: next(now))
    watch.lap("compute_seconds")
    watch.lap("pack_seconds")
    watch.lap("compute_seconds")
    assert watch.seconds == {"compute_seconds": 6.0, "pack_seconds": 1.0}


def share(free: int, host: int = 64 * GIB, *, sharers: int = 2, is_host: bool = False) -> Share:
    return Share(free, sharers, host, is_host)


def test_the_paper_s_large_square_fits_two_ranks_on_one_h200() -> None:
    limits = Limits(share(139 * GIB), Cut(61440, 61440, 1, 1, 2))
    points = points_of(limits.cut, MEMORY_KINDS)
    assert [limits.why_not(point) for point in points] == [None] * len(points)
    # Not all at once: managed memory would exceed half of what explicit arrays leave.
    assert not limits.fits(points)
    assert all(limits.fits([point for point in points if point.memory == kind]) for kind in MEMORY_KINDS)


def test_small_squares_are_measured_all_at_once() -> None:
    limits = Limits(share(16 * GIB), Cut(3072, 3072, 1, 1, 2))
    points = points_of(limits.cut, MEMORY_KINDS)
    assert limits.fits(points)


def test_where_memory_lacks_for_all_one_kind_follows_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "fits", lambda *_: False)
    batches = plan(open_device("host"), Options(sides=[SIDE], halos=[1]), GIB).batches[:-1]
    kinds = [{subject.template.host_memory for subject in batch.prepare().subjects} for batch in batches]
    assert kinds == [{"pageable"}, {"pinned"}, {"managed"}, {"mapped"}]


@pytest.mark.parametrize(
    "cut", [Cut(24, 48, 1, 1, 2), Cut(72, 48, 2, 3, 2), Cut(9, 7, 1), Cut(24, 48, 1, iterations=3)]
)
def test_a_case_names_its_cut(cut: Cut) -> None:
    point = HaloPoint(cut, "gpu_pack", "pinned")
    assert HaloPoint.of(point.case(devices=2)) == point


def test_managed_memory_takes_no_more_than_half_of_the_device() -> None:
    limits = Limits(share(100 * MIB), Cut(2048, 2048, 1, 1, 2))
    assert limits.why_not(HaloPoint(limits.cut, "gpu_pack", "pinned")) is None
    why = limits.why_not(HaloPoint(limits.cut, "gpu_pack", "managed"))
    assert why == (
        "two arrays for each of 2 ranks on the device, 64 MiB in all, exceeds half of the free device memory (50 MiB)"
    )


def test_what_the_host_has_no_room_for_is_left_out() -> None:
    limits = Limits(share(16 * GIB, 10 * MIB), Cut(2048, 2048, 1, 1, 2))
    assert "--memory-budget allows more" in (limits.why_not(HaloPoint(limits.cut, "cpu_columns", "pinned")) or "")
    assert limits.why_not(HaloPoint(limits.cut, "gpu_pack", "pinned")) is None


def test_the_device_with_the_least_room_for_each_rank_decides() -> None:
    rooms = [Room("a", "cuda:0", 90), Room("a", "cuda:0", 80), Room("b", "cuda:0", 60)]
    assert Share.of(rooms, 7, False)[:3] == (80, 2, 7)
    assert Share.of(rooms, 7, False).reference_bytes == 20
