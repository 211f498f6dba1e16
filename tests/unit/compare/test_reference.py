"""References: made from runs, read from the package, and what a run looks like beside them."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from isthmus.compare import Checkup, check, known_references, made_reference, read_reference
from isthmus.errors import RunFileError, UsageError
from isthmus.record import Case, Run
from tests.synthetic import batching as synthetic_batching
from tests.synthetic import runs as synthetic

Remade = Callable[..., Run]


@pytest.fixture
def visits(run: Run, remade: Remade) -> list[Run]:
    """Runs of five machines of one kind, of which pageable memory differs and pinned memory hardly does."""

    def varied(seed: int) -> Callable[[Case], float]:
        return lambda case: 1 + 0.1 * seed if case.host_memory == "pageable" else 1.0

    return [remade(run, varied(seed), spread=0.002, seed=seed) for seed in range(5)]


def slow(found: Checkup) -> set[tuple[str, str]]:
    return {
        (figure.expected.quantity, figure.expected.host_memory)
        for figure in found.figures
        if figure.verdict == "slower"
    }


def test_the_runs_that_made_it_look_right(visits: list[Run]) -> None:
    reference = made_reference("five", visits)
    assert reference.runs == 5
    for run in visits:
        found = check(reference, run)
        assert found.right
        assert found.counts == {"same": len(reference.figures)}


@pytest.mark.parametrize("most", [64 * 1024, 1 << 20, 16 << 20])
def test_a_run_of_fewer_sizes_is_held_against_rates_of_those(visits: list[Run], most: int) -> None:
    """Rates rise with the size: those of a quick run are not those that the largest copies reach."""
    reference = made_reference("five", visits)
    for run in visits:
        cut = msgspec.structs.replace(run, cases=[case for case in run.cases if case.bytes <= most])
        found = [figure for figure in check(reference, cut).figures if figure.expected.quantity == "rate"]
        assert found
        assert {figure.verdict for figure in found} == {"same"}
    whole = {each.key: each for each in reference.figures if each.quantity == "rate"}
    assert all(figure.expected.typical < whole[figure.expected.key].typical for figure in found)


def test_nothing_is_expected_beyond_the_link(visits: list[Run], remade: Remade) -> None:
    wide = [remade(run, lambda _, seed=seed: 1 + 2.0 * seed, seed=seed) for seed, run in enumerate(visits)]
    most = {"both": 2 * 63.02e9}
    for each in made_reference("wide", wide).figures:
        if each.quantity == "rate":
            assert each.high <= 1.001 * most.get(each.direction, 63.02e9)


def test_a_range_is_as_wide_as_machines_differ(visits: list[Run]) -> None:
    rates = {each.key: each for each in made_reference("five", visits).figures if each.quantity == "rate"}
    pinned = next(each for key, each in rates.items() if (key.host_memory, key.direction) == ("pinned", "h2d"))
    pageable = next(each for key, each in rates.items() if (key.host_memory, key.direction) == ("pageable", "h2d"))
    assert 1.02 < pinned.high / pinned.low < 1.06
    assert pageable.high / pageable.low > 1.4
    assert pinned.low < 55e9 < pinned.high


def test_a_link_of_half_the_width_does_not_look_right(visits: list[Run], run: Run, remade: Remade) -> None:
    half = remade(run, lambda case: 2.0 if case.host_memory != "pageable" and case.bytes > 1 << 16 else 1.0)
    link = run.fingerprint.device.link
    assert link
    link = msgspec.structs.replace(link, width=8, width_under_load=8)
    device = msgspec.structs.replace(run.fingerprint.device, link=link)
    half = msgspec.structs.replace(half, fingerprint=msgspec.structs.replace(run.fingerprint, device=device))
    found = check(made_reference("five", visits), half)
    assert not found.right
    assert ("rate", "pinned") in slow(found)
    assert ("rate", "pageable") not in slow(found)
    assert [cause.difference.topic for cause in found.causes] == ["link"]
    assert found.causes[0].explains == found.causes[0].of > 0


def test_what_the_run_does_not_have_is_counted(visits: list[Run]) -> None:
    reference = made_reference("five", visits)
    part = msgspec.structs.replace(visits[0], cases=[case for case in visits[0].cases if case.direction == "h2d"])
    found = check(reference, part)
    assert (found.right, found.unmeasured) == (True, len(reference.figures) // 2)


def test_a_run_without_any_figure_is_refused(visits: list[Run]) -> None:
    with pytest.raises(UsageError, match="it has no cases"):
        check(made_reference("five", visits), synthetic.run([]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"series": [], "skipped": True}, "it skipped all of its 2 cases, and isthmus report --all shows why"),
        ({"verified": "no"}, "the data of all that it measured arrived wrong"),
    ],
)
def test_a_run_whose_cases_count_for_nothing_says_so(
    visits: list[Run], changes: dict[str, object], message: str
) -> None:
    useless = [msgspec.structs.replace(case, **changes) for case in visits[0].cases[:2]]
    with pytest.raises(UsageError, match=message):
        check(made_reference("five", visits), msgspec.structs.replace(visits[0], cases=useless))


def test_other_experiments_are_compared_by_their_times(remade: Remade) -> None:
    run = synthetic.run(synthetic_batching.cases(synthetic_batching.H200))
    reference = made_reference("batching", [remade(run, spread=0.01, seed=seed) for seed in range(4)])
    assert {figure.quantity for figure in reference.figures} == {"time"}
    assert check(reference, run).right
    found = check(reference, remade(run, lambda case: 3.0 if case.method == "copies" else 1.0, spread=0.01))
    assert {figure.expected.method for figure in found.figures if figure.verdict == "slower"} == {"copies"}
    assert not found.right


def test_runs_of_several_kinds_make_no_reference(run: Run) -> None:
    other = synthetic.run(run.cases, device=synthetic.cpu_device())
    with pytest.raises(UsageError, match="cuda NVIDIA H200, opencl cpu-haswell"):
        made_reference("mixed", [run, other])
    with pytest.raises(UsageError, match="of none"):
        made_reference("nothing", [])


def test_a_reference_names_no_single_machine(visits: list[Run]) -> None:
    device = msgspec.structs.replace(visits[0].fingerprint.device, uuid="GPU-84385b85")
    named = msgspec.structs.replace(
        visits[0], fingerprint=msgspec.structs.replace(visits[0].fingerprint, device=device)
    )
    reference = made_reference("one", [named])
    assert b"GPU-84385b85" not in msgspec.json.encode(reference)
    assert all(len(case.series[0].samples) == 1 for case in reference.run.cases)


def test_a_file_is_read_as_it_was_written(visits: list[Run], tmp_path: Path) -> None:
    reference = made_reference("five", visits)
    path = tmp_path / "five.json.gz"
    path.write_bytes(reference.encoded())
    assert read_reference(str(path)) == reference
    assert reference.encoded() == path.read_bytes()


@pytest.mark.parametrize("content", [b"", b"no gzip", b"\x1f\x8b\x08\x00 damaged"])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.json.gz"
    path.write_bytes(content)
    with pytest.raises(RunFileError, match="not a reference"):
        read_reference(str(path))


def test_an_unknown_name_lists_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="no such reference: 'h200'; there are h100-pcie5, h200-pcie5"):
        read_reference("h200")


@pytest.mark.parametrize("name", known_references())
def test_those_in_the_package_are_small_and_whole(name: str) -> None:
    reference = read_reference(name)
    assert reference.name == name
    assert reference.runs >= 3
    assert len(reference.encoded()) < 300_000
    assert all(0 < each.low <= each.typical <= each.high for each in reference.figures)
    assert not reference.run.fingerprint.device.uuid


def test_pinned_memory_of_an_h200_is_expected_near_the_link() -> None:
    (pinned,) = (
        each
        for each in read_reference("h200-pcie5").figures
        if (each.quantity, each.method, each.direction, each.host_memory) == ("rate", "copy", "h2d", "pinned")
    )
    assert 53e9 < pinned.low < 55.3e9 < pinned.high < 57.5e9
