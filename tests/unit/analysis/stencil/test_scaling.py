"""Curves over ranks and what they conclude, on runs whose truth is known; no two lines look alike."""

import itertools

import msgspec
import pytest

from isthmus.analysis.stencil.model import STENCIL_METHODS, exchange_share, iteration, stencils
from isthmus.analysis.stencil.scaling import StencilCurve, stencil_curves
from isthmus.analysis.stencil.section import section
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


def test_no_two_ways_look_the_same() -> None:
    ways = list(itertools.product(STENCIL_METHODS, ("pageable", "pinned", "managed")))
    phases = (1.0, 0.1, 0.1, 0.1, 0.1)
    cases = [synthetic_stencil.case(64, way, phases, ranks=count) for way in ways for count in (1, 2)]
    run: Run = synthetic.run(cases)
    run = msgspec.structs.replace(run, settings=msgspec.structs.replace(run.settings, options={"scaling": "strong"}))
    found = section([run])
    assert found
    legend = next(each for each in found.parts if each.title == "Scaling with the number of ranks").legend
    assert len(legend) == len(ways)
    assert len({(entry.look.variable, entry.look.dash) for entry in legend}) == len(ways)
    assert len({(entry.look.variable, entry.look.shape) for entry in legend}) == len(ways)
