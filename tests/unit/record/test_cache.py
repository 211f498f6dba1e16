"""The cache of runs: what is kept, what is dropped, and what several runs say together."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from isthmus.errors import RunFileError
from isthmus.record import Host, Run, Settings, cached_run, joined, keep_run
from tests.synthetic import runs as synthetic

Make = Callable[..., Run]
NODE = Host(name="node17")


@pytest.fixture
def make() -> Make:
    """A run by name, with one kind of memory, sizes and mode."""

    def run(
        name: str, kind: str = "pinned", sizes: tuple[int, ...] = (1024, 4096), *, rate: float = 5e10, **more: str
    ) -> Run:
        cases = synthetic.cases({("copy", "h2d", kind): synthetic.Truth(8e-6, rate)}, sizes)
        made = synthetic.run(cases, name=name, host=NODE)
        mode = more.get("mode", "default")
        cases = [msgspec.structs.replace(case, experiment=more.get("experiment", "bandwidth")) for case in cases]
        replaced: Run = msgspec.structs.replace(made, settings=Settings(mode=mode), cases=cases)
        return replaced

    return run


def medians(run: Run) -> dict[tuple[str, int], float]:
    return {(case.host_memory, case.bytes): sorted(case.samples("host_seconds"))[10] for case in run.cases}


def test_what_was_kept_comes_back(make: Make, tmp_path: Path) -> None:
    run = make("20261101T000000Z-aaaaaa")
    path = keep_run(run, tmp_path)
    assert path.is_relative_to(tmp_path)
    assert cached_run(NODE, run.fingerprint.device, tmp_path) == run


def test_another_device_driver_or_machine_has_nothing(make: Make, tmp_path: Path) -> None:
    keep_run(make("20261101T000000Z-aaaaaa"), tmp_path)
    assert cached_run(Host(name="node18"), synthetic.gpu(), tmp_path) is None
    assert cached_run(NODE, synthetic.gpu(driver_version="590.1"), tmp_path) is None
    assert cached_run(NODE, synthetic.gpu(pci_address="0000:06:00.0"), tmp_path) is None
    assert cached_run(NODE, synthetic.gpu(), tmp_path) is not None


def test_runs_add_up_and_the_newest_of_a_case_counts(make: Make, tmp_path: Path) -> None:
    old = make("20261101T000000Z-aaaaaa", sizes=(1024, 4096))
    new = make("20261102T000000Z-bbbbbb", sizes=(4096, 8192), rate=1e9)
    other = make("20261103T000000Z-cccccc", kind="pageable", experiment="breakeven")
    for run in (new, old, other):
        keep_run(run, tmp_path)
    found = cached_run(NODE, synthetic.gpu(), tmp_path)
    assert found is not None
    expected = medians(old) | medians(new) | medians(other)
    assert medians(found) == expected
    assert found.run == f"{other.run}, {new.run}, {old.run}"


def test_a_brief_experiment_takes_the_place_of_none(make: Make, tmp_path: Path) -> None:
    thorough = make("20261101T000000Z-aaaaaa", experiment="breakeven")
    later = make("20261102T000000Z-bbbbbb", experiment="breakeven", rate=1e9)
    both = [*make("20261102T000000Z-bbbbbb").cases, *later.cases]
    brief = msgspec.structs.replace(later, cases=both, settings=Settings(options={"brief": "breakeven"}))
    for run in (thorough, brief):
        keep_run(run, tmp_path)
    known = cached_run(NODE, synthetic.gpu(), tmp_path)
    assert known is not None
    rates = {
        name: [case.samples("host_seconds") for case in known.cases if case.experiment == name]
        for name in ("bandwidth", "breakeven")
    }
    assert rates["breakeven"] == [case.samples("host_seconds") for case in thorough.cases]
    assert len(rates["bandwidth"]) == 2


def test_quick_runs_fill_gaps_alone(make: Make, tmp_path: Path) -> None:
    thorough = make("20261101T000000Z-aaaaaa")
    quick = make("20261105T000000Z-bbbbbb", sizes=(4096, 8192), rate=1e9, mode="quick")
    keep_run(thorough, tmp_path)
    keep_run(quick, tmp_path)
    found = cached_run(NODE, synthetic.gpu(), tmp_path)
    assert found is not None
    assert medians(found) == medians(quick) | medians(thorough)


def test_a_skipped_case_gives_way_to_a_measured_one(make: Make) -> None:
    measured = make("old")
    skips = synthetic.run(synthetic.skips(("copy", "h2d", "pinned"), (1024,), "no memory"), name="new")
    assert not any(case.skipped for case in joined([skips, measured]).cases)
    assert len(joined([skips, measured]).cases) == 2


def test_few_runs_of_each_experiment_stay(make: Make, tmp_path: Path) -> None:
    keep_run(make("20261101T000000Z-rare00", experiment="managed"), tmp_path)
    keep_run(make("20261101T000001Z-slow00"), tmp_path)
    for day in range(10, 16):
        keep_run(make(f"202611{day}T000000Z-quick0", mode="quick"), tmp_path)
    kept = sorted(path.name.split(".")[0] for path in tmp_path.rglob("*.json.gz"))
    assert kept == [
        "20261101T000000Z-rare00",
        "20261101T000001Z-slow00",
        *(f"202611{day}T000000Z-quick0" for day in (13, 14, 15)),
    ]


def test_a_damaged_file_is_named(make: Make, tmp_path: Path) -> None:
    path = keep_run(make("20261101T000000Z-aaaaaa"), tmp_path)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(RunFileError, match=path.name):
        cached_run(NODE, synthetic.gpu(), tmp_path)


def test_the_user_chooses_the_place(make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert keep_run(make("20261101T000000Z-aaaaaa")).is_relative_to(tmp_path / "cache" / "isthmus" / "runs")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert keep_run(make("20261101T000000Z-aaaaaa")).is_relative_to(tmp_path / "home" / ".cache")


def test_a_place_that_cannot_be_written_is_an_error_of_the_system(make: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        keep_run(make("20261101T000000Z-aaaaaa"), tmp_path / "file")
