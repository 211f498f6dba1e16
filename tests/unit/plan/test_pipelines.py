"""Plans for pipelines, against copies of known latency and rate."""

import pytest

from isthmus.plan import answer
from isthmus.record import MIB, PipelineNeed, Run
from tests.synthetic import breakeven as synthetic_breakeven
from tests.synthetic import runs as synthetic

LATENCY = 8e-6
RATES = {"pageable": 12e9, "pinned": 55e9, "registered": 55e9}


@pytest.fixture(scope="module")
def run() -> Run:
    truths = {
        ("copy", way, kind): synthetic.Truth(LATENCY, rate) for kind, rate in RATES.items() for way in ("h2d", "d2h")
    }
    made: Run = synthetic.run([*synthetic.cases(truths), *synthetic_breakeven.allocation()])
    return made


def copied(kind: str, size: float) -> float:
    return LATENCY + size / RATES[kind]


def test_one_chunk_is_one_stage_after_the_other(run: Run) -> None:
    size = 64 * MIB
    ways = {way.name: way for way in answer(run, PipelineNeed(size, 3e-3)).methods}
    assert ways["pinned_serial"].seconds.median == pytest.approx(2 * copied("pinned", size) + 3e-3, rel=0.02)
    assert ways["pinned_serial"].options == {"chunks": 1, "streams": 1}


def test_chunks_take_a_fill_and_turns_of_the_slowest_stage(run: Run) -> None:
    size, chunks, work = 64 * MIB, 16, 6e-3
    (way,) = (way for way in answer(run, PipelineNeed(size, work, chunks)).methods if way.name == "pinned_pipeline")
    stages = [copied("pinned", size / chunks), work / chunks, copied("pinned", size / chunks)]
    assert way.seconds.median == pytest.approx(sum(stages) + (chunks - 1) * max(stages), rel=0.02)
    assert way.options == {"chunks": chunks, "streams": 4}
    assert sum(step.count * step.seconds.median for step in way.steps) == pytest.approx(way.seconds.median)


def test_the_chosen_chunks_are_as_good_as_any(run: Run) -> None:
    need = PipelineNeed(64 * MIB, 2e-3)
    best = answer(run, need).methods[0]
    assert best.name == "pinned_pipeline"
    for chunks in (2, 5, 16, 40, 128):
        other = answer(run, PipelineNeed(64 * MIB, 2e-3, chunks)).methods[0]
        assert best.seconds.median <= 1.02 * other.seconds.median


def test_memory_of_its_own_is_paid_for(run: Run) -> None:
    size = 64 * MIB
    there, new = (answer(run, PipelineNeed(size, 2e-3, 8, source)).methods for source in ("pinned", "new"))
    pinned = {way.name: way.seconds.median for way in there}["pinned_pipeline"]
    held = {way.name: way.seconds.median for way in new}["pinned_pipeline"]
    assert held - pinned == pytest.approx(synthetic_breakeven.H200.once("pinned", size), rel=0.03)
