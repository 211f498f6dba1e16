"""Curves over ranks and what they conclude, on runs whose truth is known."""

import msgspec
import pytest

from isthmus.analysis.stencil.findings import findings as stencil_findings
from isthmus.analysis.stencil.findings import takeaway as stencil_takeaway
from isthmus.analysis.stencil.model import exchange_share, iteration, stencils
from isthmus.analysis.stencil.scaling import StencilCurve, stencil_curves
from isthmus.record import Case, Run
from tests.synthetic import runs as synthetic
from tests.synthetic import stencil as synthetic_stencil

GPU = ("gpu_pack", "pinned")
CPU = ("cpu_whole", "pinned")


def run_of(cases: list[Case], scaling: str) -> Run:
    run: Run = synthetic.run(cases)
    options = {"scaling": scaling} if scaling else {}
    return msgspec.structs.replace(run, settings=msgspec.structs.replace(run.settings, options=options))


@pytest.fixture(scope="module")
def run() -> Run:
    return run_of(synthetic_stencil.scaled(), "strong,weak")


def curve(run: Run, scaling: str, kind: str) -> StencilCurve:
    (found,) = [each for each in stencil_curves(run) if (each.scaling, each.kind) == (scaling, kind)]
    return found


def test_curves_are_those_that_were_asked_for(run: Run) -> None:
    found = [(each.scaling, each.kind, each.side, [one.ranks for one in each.stencils]) for each in stencil_curves(run)]
    assert found == [
        ("strong", "strips", 64, [1, 2, 4]),
        ("strong", "grid", 64, [1, 2, 4]),
        ("weak", "grid", 64, [1, 2, 4]),
    ]
    assert stencil_curves(run_of(synthetic_stencil.scaled(), "")) == []
    only = stencil_curves(run_of(synthetic_stencil.scaled(), "weak"))
    assert {each.scaling for each in only} == {"weak"}


@pytest.mark.parametrize(
    ("scaling", "kind", "way", "efficiency", "share"),
    [
        ("strong", "strips", GPU, 1.1 / 0.45 / 4, 0.2 / 0.45),
        ("strong", "grid", GPU, 1.1 / 0.35 / 4, 0.1 / 0.35),
        ("strong", "grid", CPU, 1.4 / 0.65 / 4, 0.4 / 0.65),
        ("weak", "grid", GPU, 1.0, 0.1 / 1.1),
    ],
)
def test_efficiency_counts_mpi_and_the_ranks(
    run: Run, scaling: str, kind: str, way: tuple[str, str], efficiency: float, share: float
) -> None:
    found = curve(run, scaling, kind)
    ours = found.efficiency(found.last, way)
    assert ours
    assert ours.median == pytest.approx(efficiency, rel=0.01)
    assert ours.low < ours.median < ours.high
    assert exchange_share(found.last.points[way]) == pytest.approx(share, rel=0.01)
    alone = found.efficiency(found.stencils[0], way)
    assert alone == (1, 1, 1)


def test_the_time_of_an_iteration_is_a_twentieth_of_what_elapsed(run: Run) -> None:
    point = curve(run, "strong", "grid").stencils[0].points[GPU]
    time = iteration(point)
    assert time
    assert time.median == pytest.approx(1.1 / 20, rel=0.01)


def test_without_one_rank_alone_there_is_no_efficiency() -> None:
    cases = [case for case in synthetic_stencil.scaled() if case.ranks != 1 or case.method != "gpu_pack"]
    run = run_of(cases, "strong")
    found = curve(run, "strong", "grid")
    assert found.efficiency(found.last, GPU) is None
    assert found.efficiency(found.last, CPU)
    assert found.methods[0] == GPU, "it is the fastest all the same"
    [told] = [each for each in stencil_findings(run) if each.topic == "stencil_strong_grid_64_1"]
    assert "CPU packs, whole array, pinned" in told.text


def test_files_from_before_have_no_time_with_mpi() -> None:
    cases = [
        msgspec.structs.replace(case, series=[each for each in case.series if each.metric != "elapsed_seconds"])
        for case in synthetic_stencil.scaled()
    ]
    found = curve(run_of(cases, "strong"), "strong", "grid")
    point = found.last.points[GPU]
    assert (iteration(point), exchange_share(point), found.efficiency(found.last, GPU)) == (None, None, None)
    assert not found.ranking


@pytest.mark.parametrize("cut", ["3x1", "0x0", "2", "x", "-2x-1", "2x1x1", "9" * 5000 + "x1"])
def test_a_cut_that_does_not_fit_the_ranks_is_none(cut: str) -> None:
    run = synthetic.run([synthetic_stencil.case(64, GPU, (1.0, 0.1, 0.1, 0.1, 0.1), cut=cut)])
    [found] = stencils(run)
    assert (found.down, found.across) == (1, 2)


def test_every_curve_has_its_efficiency(run: Run) -> None:
    found = {finding.topic: finding for finding in stencil_findings(run)}
    strong = found["stencil_strong_grid_64_1"]
    assert strong.text.startswith(
        "Strong scaling, grid, 64 x 64 points, halos 1 wide: 78 to 79 % parallel efficiency on 4 ranks (2 x 2) on "
        "4 devices, by GPU packs, pinned (17.5 ms an iteration, "
    )
    assert "(55.1 ms an iteration" in found["stencil_weak_grid_64_1"].text
    topics = [finding.topic for finding in stencil_findings(run)]
    assert len(topics) == len(set(topics))
    assert {topic for topic in topics if "fastest" in topic} == {
        "stencil_fastest_64",
        "stencil_fastest_64_grid_2x2",
        "stencil_fastest_128_grid_2x2",
    }, "fewer ranks are told as curves alone"


def test_ranks_that_share_a_device_are_told() -> None:
    cases = [msgspec.structs.replace(case, devices=None) for case in synthetic_stencil.scaled()]
    found = {each.topic: each for each in stencil_findings(run_of(cases, "strong"))}
    assert "on 4 ranks (1 x 4) on 1 device, by" in found["stencil_strong_strips_64_1"].text


def test_the_verdict_is_of_the_square_that_all_ranks_share(run: Run) -> None:
    told = stencil_takeaway(run)
    assert told
    assert "the fastest on 64 x 64 points, halos 1 wide, 4 ranks (1 x 4) on 4 devices" in told.text


def test_a_field_that_is_no_square_has_both_sides_named() -> None:
    made = [
        synthetic_stencil.case(64, way, (1.0, 0.1, 0.1, 0.1, 0.1), columns=256, ranks=4)
        for way in (GPU, ("gpu_pack", "managed"))
    ]
    run = synthetic.run(made)
    found = {each.topic: each for each in stencil_findings(run)}
    assert set(found) == {"stencil_fastest_64x256"}, "the paper's squares are not compared with it"
    assert "64 x 256 points, halos 1 wide, 4 ranks (1 x 4) on 1 device" in found["stencil_fastest_64x256"].text
    assert stencil_takeaway(run)
