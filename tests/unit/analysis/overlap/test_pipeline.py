"""Pipelines predicted from copies alone, and what each direction loses while the other runs."""

import numpy as np
import pytest
from msgspec.structs import replace

from isthmus.analysis.bandwidth.prediction import Predictor, two_ways
from isthmus.analysis.overlap.pipeline import PipelineModel, pipeline_model, pipeline_seconds
from isthmus.analysis.statistics.curve import ONE_WAY
from isthmus.analysis.statistics.resample import DRAWS, Draws, interval_of
from isthmus.record import KIB, MIB, Case, Series
from tests.synthetic import overlap as synthetic_overlap
from tests.synthetic import runs as synthetic

POWERS = tuple(1 << power for power in range(31))
LATENCY = 6e-6
RATE = 50e9


def sure(seconds: float) -> Draws:
    return np.full(1 + DRAWS, seconds)


def simulated(stages: list[float], chunks: int, streams: int) -> float:
    """Seconds of the same pipeline, event by event."""
    free = [0.0] * len(stages)
    ended = [0.0] * streams
    for chunk in range(chunks):
        now = ended[chunk % streams]
        for stage, seconds in enumerate(stages):
            free[stage] = now = max(now, free[stage]) + seconds
        ended[chunk % streams] = now
    return max(ended)


@pytest.mark.parametrize("stages", [[1.0, 1.0, 1.0], [3.0, 1.0, 2.0], [0.2, 5.0, 0.1]])
@pytest.mark.parametrize("chunks", [1, 2, 7, 64])
def test_with_streams_enough_the_slowest_stage_sets_the_pace(stages: list[float], chunks: int) -> None:
    found = pipeline_seconds([sure(stage) for stage in stages], chunks)
    assert found[0] == pytest.approx(simulated(stages, chunks, chunks))


@pytest.mark.parametrize("chunks", [1, 2, 16])
def test_one_stream_takes_one_stage_after_the_other(chunks: int) -> None:
    found = pipeline_seconds([sure(1.0), sure(2.0), sure(0.5)], chunks, streams=1)
    assert found[0] == pytest.approx(3.5 * chunks)


def test_two_streams_of_three_equal_stages_keep_two_of_them_going() -> None:
    found = pipeline_seconds([sure(1.0)] * 3, 65, streams=2)
    assert found[0] == pytest.approx(simulated([1.0] * 3, 65, 2), rel=0.02)
    assert found[0] > simulated([1.0] * 3, 65, 3) * 1.4


def test_stages_that_slow_each_other_set_the_pace_and_not_the_filling() -> None:
    found = pipeline_seconds([sure(1.0), sure(1.0)], 11, busy=[sure(1.5), sure(1.2)])
    assert found[0] == pytest.approx(2.0 + 10 * 1.5)


def model(*, occupied: bool = False) -> PipelineModel:
    seconds = np.array([LATENCY + size / RATE for size in POWERS])
    copies = Predictor(POWERS, np.repeat(seconds[:, np.newaxis], 1 + DRAWS, axis=1))
    return PipelineModel("pinned", copies, copies, None, occupied)


def test_every_chunk_pays_its_latency() -> None:
    few, many = (model().at(64 * MIB, 0.0, chunks, 4).seconds.median for chunks in (16, 4096))
    assert many > few
    assert many == pytest.approx(4097 * (LATENCY + 16 * KIB / RATE), rel=1e-6)


def test_a_thread_that_copies_itself_overlaps_nothing() -> None:
    found = model(occupied=True).at(64 * MIB, 2e-3, 16, 4)
    assert found.seconds.median == pytest.approx(2 * (16 * LATENCY + 64 * MIB / RATE) + 2e-3, rel=1e-6)


def on_the_device(cases: list[Case], slower: float = 1.0) -> list[Case]:
    """The cases with a time on the device's clock that differs from that on the host's by a factor alone."""
    return [
        replace(
            case,
            series=[
                *(series for series in case.series if series.metric != "device_seconds"),
                Series(metric="device_seconds", samples=[slower * each for each in case.series[0].samples]),
            ],
        )
        for case in cases
    ]


def copies(*, slower: float = 1.0, memory: str = "pinned") -> list[Case]:
    alone = {("copy", way, memory): synthetic.Truth(LATENCY, RATE, 0.001) for way in ("h2d", "d2h")}
    duplex = {("duplex", way, memory): synthetic.Truth(LATENCY, RATE, 0.001) for way in ("h2d", "d2h")}
    return [*on_the_device(synthetic.cases(alone)), *on_the_device(synthetic.cases(duplex, seed=2), slower)]


def test_what_a_direction_loses_beside_the_other_is_found() -> None:
    found = two_ways(synthetic.run(copies(slower=1.25)), "pinned")
    assert found
    for way in ONE_WAY:
        assert found.alone[way].sizes == found.together[way].sizes == POWERS
        slowdown = interval_of(found.together[way].draws(16 * MIB) / found.alone[way].draws(16 * MIB))
        assert slowdown.low < 1.25 < slowdown.high
        assert slowdown.median == pytest.approx(1.25, rel=0.01)
        assert found.added(way, 16 * MIB)[0] == pytest.approx(0.25 * 16 * MIB / RATE, rel=0.05)


def test_a_copy_is_never_taken_to_help_another() -> None:
    found = two_ways(synthetic.run(copies(slower=0.5)), "pinned")
    assert found
    assert (found.added("h2d", MIB) == 0).all()


def test_copies_that_occupy_their_thread_are_known_by_the_time_of_their_calls() -> None:
    cases = [
        replace(
            case,
            series=[
                *(series for series in case.series if series.metric != "enqueue_seconds"),
                Series(metric="enqueue_seconds", samples=case.samples("host_seconds")),
            ],
        )
        for case in copies()
    ]
    occupied, free = (pipeline_model(synthetic.run(each), "pinned") for each in (cases, copies()))
    assert occupied is not None
    assert free is not None
    assert (occupied.occupied, free.occupied) == (True, False)


def test_memory_that_was_not_measured_has_no_model() -> None:
    made = synthetic.run([*copies(), *synthetic_overlap.cases("staged", synthetic_overlap.STAGED)])
    assert pipeline_model(made, "staged") is None
