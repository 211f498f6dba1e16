"""Pipelines of copies and work: right results for every division, stages in their order, faults that are told."""

from __future__ import annotations

from itertools import pairwise

import pytest

from isthmus import _native
from isthmus.errors import CallFailed, UsageError
from isthmus.machine.devices import open_device
from isthmus.record import KIB

SIZE = 768 * KIB
ALL = ["in", "work", "out"]


class Buffers:
    """Source, device memory and results, and memory to stage through."""

    def __init__(self, device: _native.Device, kind: str = "pageable") -> None:
        self.source = device.allocate(kind, SIZE)
        self.source.fill_pattern(0, SIZE, 3)
        self.work = device.allocate("device", SIZE)
        self.results = device.allocate(kind, SIZE)
        self.staging = _native.create_staging(device, SIZE, 3, 1)

    def pipeline(
        self, chunks: int, streams: int, *, staged: bool = False, rounds: int = 5, stages: list[str] = ALL
    ) -> _native.Pipeline:
        staging = self.staging if staged else None
        return _native.create_pipeline(
            self.source, self.work, self.results, staging, SIZE, chunks, streams, rounds, stages
        )


@pytest.fixture(scope="module", params=["pageable", "pinned"])
def buffers(device: _native.Device, request: pytest.FixtureRequest) -> Buffers:
    return Buffers(device, request.param)


@pytest.mark.parametrize("staged", [False, True], ids=["direct", "staged"])
@pytest.mark.parametrize(("chunks", "streams"), [(1, 1), (4, 1), (4, 3), (16, 2), (64, 3)])
@pytest.mark.parametrize("rounds", [0, 1, 77])
def test_results_are_what_the_work_makes_of_the_source(
    buffers: Buffers, chunks: int, streams: int, staged: bool, rounds: int
) -> None:
    pipeline = buffers.pipeline(chunks, streams, staged=staged, rounds=rounds)
    pipeline.poison()
    assert pipeline.verify()[0][0] > SIZE // 4 * 0.99, "poison passes for results"
    assert len(pipeline.run(1, 3, 3, 0.0)["host_seconds"]) == 3
    assert pipeline.verify()[0][0] == 0


@pytest.mark.parametrize("staged", [False, True], ids=["direct", "staged"])
def test_a_trace_shows_every_stage_of_every_chunk_once_and_in_order(buffers: Buffers, staged: bool) -> None:
    spans = buffers.pipeline(8, 2, staged=staged).trace()
    assert sorted((stage, chunk) for stage, chunk, _, _ in spans) == sorted((s, c) for s in ALL for c in range(8))
    assert min(begin for _, _, begin, _ in spans) >= 0
    for stage in ALL:
        ends = [end for name, _, _, end in spans if name == stage]
        assert ends == sorted(ends)
    for chunk in range(8):
        ends = [end for stage in ALL for name, number, _, end in spans if (name, number) == (stage, chunk)]
        assert all(before <= after for before, after in pairwise(ends)), "a chunk leaves before it has come"


def test_single_stages_can_be_timed_but_not_checked(buffers: Buffers) -> None:
    for stages in (["in"], ["work"], ["out"], ["in", "out"]):
        pipeline = buffers.pipeline(4, 2, stages=stages)
        assert len(pipeline.run(0, 2, 2, 0.0)["host_seconds"]) == 2
        assert {stage for stage, *_ in pipeline.trace()} == set(stages)
        with pytest.raises(UsageError, match="only where every stage takes place"):
            pipeline.verify()


@pytest.mark.parametrize(
    ("chunks", "streams"), [(0, 1), (1, 0), (5 * KIB, 1), (SIZE, 1), (1 << 62, 1), ((1 << 62) + 1, 1)]
)
def test_divisions_that_leave_a_rest_are_refused(buffers: Buffers, chunks: int, streams: int) -> None:
    with pytest.raises(UsageError, match="chunks of whole 32-bit words"):
        buffers.pipeline(chunks, streams)


def test_the_work_is_done_on_the_device_and_nothing_else_is_there(buffers: Buffers) -> None:
    host, device = buffers.source, buffers.work
    for source, work, results in ((device, device, host), (host, host, host), (host, device, device)):
        with pytest.raises(UsageError, match="source and results must be host memory"):
            _native.create_pipeline(source, work, results, None, SIZE, 1, 1, 1, ALL)


def test_staging_with_too_few_threads_is_refused(buffers: Buffers) -> None:
    with pytest.raises(UsageError, match="too few bytes or threads"):
        buffers.pipeline(8, 4, staged=True)


def test_an_unknown_stage_is_refused(buffers: Buffers) -> None:
    with pytest.raises(UsageError, match="no stage 'compute'"):
        buffers.pipeline(1, 1, stages=["in", "compute"])


@pytest.mark.parametrize("operation", ["copy", "work"])
@pytest.mark.parametrize("staged", [False, True], ids=["direct", "staged"])
def test_work_that_is_half_done_is_counted(operation: str, staged: bool) -> None:
    pipeline = Buffers(open_device(f"host:fault={operation}:partial").native).pipeline(4, 2, staged=staged)
    pipeline.poison()
    pipeline.run(0, 1, 1, 0.0)
    assert pipeline.verify()[0][0] > SIZE // 4 * 0.49


@pytest.mark.parametrize("operation", ["copy", "work", "synchronize"])
@pytest.mark.parametrize("staged", [False, True], ids=["direct", "staged"])
def test_a_failure_on_the_way_is_told(operation: str, staged: bool) -> None:
    pipeline = Buffers(open_device(f"host:fault={operation}:fail@50").native).pipeline(4, 2, staged=staged)
    with pytest.raises(CallFailed, match=f"{operation} failed"):
        pipeline.run(0, 100, 100, 0.0)
