"""Plans of pieces, sections, managed arrays and pipelines near the truth that drew a run; others are in snapshots."""

from collections.abc import Mapping

import pytest

from isthmus.errors import UsageError
from isthmus.plan import answer
from isthmus.plan.managed import at_share
from isthmus.record import GIB, KIB, MIB, Interval, ManagedNeed, PiecesNeed, PipelineNeed, Run, SectionNeed
from tests.synthetic import batching as synthetic_batching
from tests.synthetic import breakeven as synthetic_breakeven
from tests.synthetic import managed as synthetic_managed
from tests.synthetic import runs as synthetic
from tests.synthetic import strided as synthetic_strided


@pytest.fixture(scope="module")
def pieces_run() -> Run:
    return synthetic.run(synthetic_batching.h200_cases())


@pytest.mark.parametrize(("pieces", "size"), [(40, 704), (300, 9 * KIB), (2000, 3 * KIB), (5, 300 * KIB)])
def test_the_first_choice_of_pieces_is_the_fastest_and_takes_what_is_said(
    pieces_run: Run, pieces: int, size: int
) -> None:
    truths = {name: time(size, pieces) for name, time in synthetic_batching.H200.items()}
    plan = answer(pieces_run, PiecesNeed(pieces, size, source="pinned"))
    first = plan.methods[0]
    assert truths[first.name] <= 1.1 * min(truths.values())
    assert first.seconds.median == pytest.approx(truths[first.name], rel=0.2)
    assert first.seconds.low <= first.seconds.median <= first.seconds.high
    assert [way.seconds.median for way in plan.methods] == sorted(way.seconds.median for way in plan.methods)


@pytest.fixture(scope="module")
def sections_run() -> Run:
    return synthetic.run(synthetic_strided.h200_cases())


def column(rows: int, width: int, **fields: object) -> SectionNeed:
    """Rows that are together on the host and apart on the device."""
    needed: dict[str, object] = {"direction": "d2h", "source": "pinned", "device_pitch_bytes": 2 * width} | fields
    return SectionNeed(rows, width, width, **needed)  # type: ignore[arg-type]


@pytest.mark.parametrize(("rows", "width"), [(300, 20), (5000, 100), (200, 2000), (20_000, 8)])
def test_the_first_choice_of_sections_is_the_fastest_and_takes_what_is_said(
    sections_run: Run, rows: int, width: int
) -> None:
    truths = {name: time(width, rows) for name, time in synthetic_strided.H200.items()}
    first = answer(sections_run, column(rows, width)).methods[0]
    assert truths[first.name] <= 1.1 * min(truths.values())
    assert first.seconds.median == pytest.approx(truths[first.name], rel=0.2)


def test_copying_all_between_the_rows_is_no_substitute() -> None:
    truths = {"section": lambda width, rows: 1e-4, "whole": lambda width, rows: 1e-6}
    run = synthetic.run(synthetic_strided.grid(truths, host="strided"))
    plan = answer(run, SectionNeed(100, 8, 16, "d2h", "pinned", 16))
    assert [way.name for way in plan.methods] == ["section"]
    assert "overwrites" in plan.unknown["whole"]


def test_rows_side_by_side_are_a_buffer(sections_run: Run) -> None:
    with pytest.raises(UsageError, match="isthmus plan --bytes 800KiB --direction h2d --source pageable"):
        answer(sections_run, SectionNeed(100, 8 * KIB, 8 * KIB))


def test_rows_wider_than_their_pitch_cannot_be(sections_run: Run) -> None:
    with pytest.raises(UsageError, match="do not fit into a host pitch of 4"):
        answer(sections_run, SectionNeed(100, 8, 4))


def test_what_one_section_says_is_not_stretched() -> None:
    run = synthetic.run([synthetic_strided.case("section", 40e-6, 8, 1024, pitch=16)])
    plan = answer(run, column(30_720, 8))
    assert not plan.methods
    assert "section" in plan.unpriced


@pytest.fixture(scope="module")
def managed_run() -> Run:
    return synthetic.run(synthetic_managed.cases())


def named(truths: Mapping[tuple[str, str], object]) -> dict[str, tuple[str, str]]:
    """The names of a plan's ways."""
    return {f"{key[0]}_{key[1]}" if key[0].startswith("explicit") else key[0]: key for key in truths}


@pytest.mark.parametrize("share", [0.05, 0.3, 0.75, 1.0])
@pytest.mark.parametrize("size", [GIB, 300 * MIB])
def test_times_between_shares_and_of_other_sizes_are_near_the_truth(managed_run: Run, share: float, size: int) -> None:
    keys = named(synthetic_managed.H200)
    plan = answer(managed_run, ManagedNeed(size, fraction=share))
    assert {way.name for way in plan.methods} == set(keys)
    for way in plan.methods:
        truth = sum(synthetic_managed.H200[keys[way.name]](share)) * size / GIB
        assert way.seconds.median == pytest.approx(truth, rel=0.05), way.name
        assert sum(step.count * step.seconds.median for step in way.steps) == pytest.approx(way.seconds.median)


@pytest.mark.parametrize("stride", [4 * KIB, 32 * KIB, 200 * KIB, 2 * MIB])
def test_strides_are_near_the_truth_on_either_side_of_what_a_fault_moves(managed_run: Run, stride: int) -> None:
    into, out = synthetic_managed.H200["managed", "managed"](min(synthetic_managed.UNIT / stride, 1.0))
    (way,) = (
        way for way in answer(managed_run, ManagedNeed(GIB, stride_bytes=stride)).methods if way.name == "managed"
    )
    assert way.seconds.low <= into + out <= way.seconds.high


def test_between_two_shares_the_interval_holds_both() -> None:
    measured = {1.0: Interval(1.0, 0.9, 1.1), 3.0: Interval(2.0, 1.9, 2.1)}
    assert at_share(measured, 2.0) == Interval(1.5, 0.9, 2.1)
    assert at_share(measured, 3.0) == measured[3.0]


@pytest.mark.parametrize(
    "need",
    [
        ManagedNeed(GIB),
        ManagedNeed(GIB, 0.5, 4096),
        ManagedNeed(GIB, 0.0),
        ManagedNeed(GIB, 1.5),
        ManagedNeed(GIB, stride_bytes=4),
        ManagedNeed(4096, stride_bytes=8192),
    ],
)
def test_parts_that_cannot_be_are_errors(managed_run: Run, need: ManagedNeed) -> None:
    with pytest.raises(UsageError):
        answer(managed_run, need)


LATENCY = 8e-6
RATES = {"pageable": 12e9, "pinned": 55e9, "registered": 55e9}


@pytest.fixture(scope="module")
def copies_run() -> Run:
    truths = {
        ("copy", way, kind): synthetic.Truth(LATENCY, rate) for kind, rate in RATES.items() for way in ("h2d", "d2h")
    }
    made: Run = synthetic.run([*synthetic.cases(truths), *synthetic_breakeven.allocation()])
    return made


def copied(kind: str, size: float) -> float:
    return LATENCY + size / RATES[kind]


def test_one_chunk_is_one_stage_after_the_other(copies_run: Run) -> None:
    size = 64 * MIB
    ways = {way.name: way for way in answer(copies_run, PipelineNeed(size, 3e-3)).methods}
    assert ways["pinned_serial"].seconds.median == pytest.approx(2 * copied("pinned", size) + 3e-3, rel=0.02)
    assert ways["pinned_serial"].options == {"chunks": 1, "streams": 1}


def test_chunks_take_a_fill_and_turns_of_the_slowest_stage(copies_run: Run) -> None:
    size, chunks, work = 64 * MIB, 16, 6e-3
    (way,) = (
        way for way in answer(copies_run, PipelineNeed(size, work, chunks)).methods if way.name == "pinned_pipeline"
    )
    stages = [copied("pinned", size / chunks), work / chunks, copied("pinned", size / chunks)]
    assert way.seconds.median == pytest.approx(sum(stages) + (chunks - 1) * max(stages), rel=0.02)
    assert way.options == {"chunks": chunks, "streams": 4}
    assert sum(step.count * step.seconds.median for step in way.steps) == pytest.approx(way.seconds.median)


def test_the_chosen_chunks_are_as_good_as_any(copies_run: Run) -> None:
    need = PipelineNeed(64 * MIB, 2e-3)
    best = answer(copies_run, need).methods[0]
    assert best.name == "pinned_pipeline"
    for chunks in (2, 5, 16, 40, 128):
        other = answer(copies_run, PipelineNeed(64 * MIB, 2e-3, chunks)).methods[0]
        assert best.seconds.median <= 1.02 * other.seconds.median


def test_memory_of_its_own_is_paid_for(copies_run: Run) -> None:
    size = 64 * MIB
    there, new = (answer(copies_run, PipelineNeed(size, 2e-3, 8, source)).methods for source in ("pinned", "new"))
    pinned = {way.name: way.seconds.median for way in there}["pinned_pipeline"]
    held = {way.name: way.seconds.median for way in new}["pinned_pipeline"]
    assert held - pinned == pytest.approx(synthetic_breakeven.H200.once("pinned", size), rel=0.03)
