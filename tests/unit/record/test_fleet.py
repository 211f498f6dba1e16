"""Summaries of runs, and the fleet files that hold them."""

import gzip
from pathlib import Path
from statistics import median

import msgspec
import pytest

from isthmus.errors import RunFileError
from isthmus.files import read_bounded
from isthmus.record import (
    FLEET_FORMAT,
    FLEET_SCHEMA_VERSION,
    Case,
    Fleet,
    Launch,
    Member,
    Missing,
    Run,
    Series,
    Summary,
    read_run,
    summaries,
    write_fleet,
)
from tests.synthetic import runs as synthetic


@pytest.fixture
def run() -> Run:
    found: Run = synthetic.run([])
    return found


def with_cases(run: Run, *cases: Case) -> Run:
    return msgspec.structs.replace(run, cases=list(cases))


def case(samples: list[float], **more: object) -> Case:
    series = [Series(metric="host_seconds", samples=samples)] if samples else []
    named = {"experiment": "bandwidth", "method": "copy", "host_memory": "pinned", "bytes": 64} | more
    return Case(series=series, **named)  # type: ignore[arg-type]


def test_quantiles_lie_between_samples(run: Run) -> None:
    (summary,) = summaries(with_cases(run, case([5.0, 1.0, 2.0, 3.0, 4.0], verified="yes"))).values()
    assert summary == Summary(5, 1.0, 2.0, 3.0, 4.0, 5.0, "yes")
    (summary,) = summaries(with_cases(run, case([2.0, 1.0]))).values()
    assert (summary.lower_quartile, summary.median, summary.upper_quartile) == (1.25, 1.5, 1.75)


def test_times_keep_five_digits(run: Run) -> None:
    samples = [1.23456789e-5, 3.3333333e-5, 9.87654321e-5]
    (summary,) = summaries(with_cases(run, case(samples))).values()
    assert summary.median == pytest.approx(median(samples), rel=1e-5)
    assert len(str(summary.median)) <= 10


def test_a_skip_says_why(run: Run) -> None:
    (summary,) = summaries(with_cases(run, case([], skipped=True, note="no such memory"))).values()
    assert summary == Summary(0, note="no such memory")


def test_what_a_point_has_no_field_for_still_tells_cases_apart(run: Run) -> None:
    found = summaries(with_cases(run, case([1.0], pieces=4), case([2.0], pieces=8, threads=2)))
    assert {point.parameters for point in found} == {"pieces=4", "threads=2 pieces=8"}
    assert {summary.median for summary in found.values()} == {1.0, 2.0}


def test_the_phase_is_the_launch_s(run: Run) -> None:
    launch = Launch(fleet="f", phase="together", rank=1, ranks=2, local_rank=1, node=0)
    (point,) = summaries(msgspec.structs.replace(with_cases(run, case([1.0])), launch=launch))
    assert point.phase == "together"
    (point,) = summaries(with_cases(run, case([1.0])))
    assert point.phase == "alone"


def fleet(members: list[Member]) -> Fleet:
    return Fleet(
        format=FLEET_FORMAT,
        schema_version=FLEET_SCHEMA_VERSION,
        fleet="20260101T000000Z-abcdef",
        created="2026-01-01T00:00:00Z",
        points=[],
        members=members,
        missing=[Missing(rank=3, host="<b>odd", why="died")],
        notes=['two machines call themselves "x"'],
    )


@pytest.mark.parametrize("name", ["fleet.json", "fleet.json.gz"])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_fleet_file_is_what_was_written(tmp_path: Path, run: Run, name: str, count: int) -> None:
    members = [Member(fingerprint=run.fingerprint, rank=rank, summaries=[Summary(1, 1.0)]) for rank in range(count)]
    write_fleet(tmp_path / name, fleet([]), iter(members))
    assert msgspec.json.decode(read_bounded(tmp_path / name), type=Fleet) == fleet(members)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    if name.endswith(".gz"):
        assert gzip.decompress((tmp_path / name).read_bytes()).startswith(b"{")


def test_a_fleet_file_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match="name another place with -o"):
        write_fleet(tmp_path / "none" / "fleet.json", fleet([]), [])


def test_a_fleet_file_is_no_run(tmp_path: Path) -> None:
    write_fleet(tmp_path / "fleet.json", fleet([]), [])
    with pytest.raises(RunFileError, match=r"a fleet file.*isthmus fleet .*fleet\.json"):
        read_run(tmp_path / "fleet.json")
