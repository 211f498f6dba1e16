"""What the stencil experiment concludes, on runs whose truth is known."""

import pytest

from isthmus.analysis.stencil.findings import findings as stencil_findings
from isthmus.analysis.stencil.findings import takeaway as stencil_takeaway
from isthmus.analysis.stencil.model import stencils
from isthmus.document.finding import Finding
from isthmus.record import Run
from tests.synthetic import runs as synthetic
from tests.synthetic import stencil as synthetic_stencil


@pytest.fixture(scope="module")
def paper() -> Run:
    return synthetic.run(synthetic_stencil.cases())


def by_topic(run: Run) -> dict[str, Finding]:
    found = stencil_findings(run)
    topics = [finding.topic for finding in found]
    assert len(topics) == len(set(topics))
    return dict(zip(topics, found, strict=True))


def test_ratios_are_those_of_the_medians_with_what_their_intervals_leave(paper: Run) -> None:
    for stencil in stencils(paper):
        for over, under, truths in (
            (("cpu_columns", "managed"), ("cpu_whole", "pageable"), {30720: 1.87, 61440: 0.782}),
            (("gpu_pack", "managed"), ("gpu_pack", "pageable"), {30720: 1.03, 61440: 1.04}),
        ):
            ours = stencil.ratio(over, under)
            assert ours
            assert ours.median == pytest.approx(truths[stencil.side], rel=0.01)
            assert ours.low < truths[stencil.side] < ours.high


def test_managed_memory_is_compared_with_the_best_explicit_kind(paper: Run) -> None:
    small = stencils(paper)[0]
    assert small.managed_over_explicit("cpu_columns") is None, "no explicit kind of this way was measured"
    packed = small.managed_over_explicit("gpu_pack")
    assert packed
    assert packed.median == pytest.approx(1.03, rel=0.01)


def test_halos_by_hand_are_advised_where_managed_memory_is_slower() -> None:
    ways = {("gpu_pack", "pinned"): (1.0, 0.1, 0.1, 0.1, 0.0), ("gpu_pack", "managed"): (2.0, 0.1, 0.1, 0.1, 0.0)}
    run = synthetic.run([synthetic_stencil.case(64, way, phases) for way, phases in ways.items()])
    found = stencil_takeaway(run)
    assert found
    assert found.cure == "Exchange halos by hand, not through managed memory."


def test_the_side_at_which_managed_memory_begins_to_win_is_named() -> None:
    """As in the paper: with the CPU packing between its two sides, with the GPU at neither."""

    def texts(sides: tuple[int, ...]) -> dict[str, str]:
        run = synthetic.run(synthetic_stencil.cases(sides))
        return {each.topic: each.text for each in stencil_findings(run) if each.topic.startswith("stencil_managed")}

    both = texts((30720, 61440))
    assert both["stencil_managed_cpu"].startswith(
        "The CPU packs: managed memory takes 1.9 times (side 30720), 0.78 times"
    )
    assert both["stencil_managed_cpu"].endswith("it begins to win between sides 30720 and 61440.")
    assert both["stencil_managed_gpu"].endswith("it wins at no side up to 61440.")
    assert texts((61440,))["stencil_managed_cpu"].endswith("it wins at every side.")


def test_managed_memory_is_not_said_to_win_within_noise() -> None:
    means = {("gpu_pack", "pageable"): (1.0, 0.1, 0.1, 0.1, 0.0), ("gpu_pack", "managed"): (0.8, 0.1, 0.1, 0.1, 0.0)}
    run = synthetic.run([synthetic_stencil.case(64, way, phases, noise=0.1) for way, phases in means.items()])
    [text] = [each.text for each in stencil_findings(run) if each.topic == "stencil_managed_gpu"]
    assert text.endswith("whether it wins is within noise.")


def test_rows_that_are_copied_one_by_one_are_compared_with_one_block() -> None:
    seconds = {"cpu_whole": 8.8, "cpu_rows": 18.8}
    run = synthetic.run(
        [
            synthetic_stencil.case(side, (method, "pageable"), (1.0, 0.1, copies, 0.1, 0.02))
            for side in (1536, 3072)
            for method, copies in seconds.items()
        ]
    )
    text = by_topic(run)["stencil_rows"].text
    assert text.endswith("the array takes 2.0 times the time of one block (side 3072).")
