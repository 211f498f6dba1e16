"""Run files: valid after every case, whatever ends the process, and refused with the place when they are not."""

import errno
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import msgspec
import pytest

from isthmus import files
from isthmus.errors import RunFileError
from isthmus.record import Case, End, Metric, Run, RunWriter, Series, read_run
from tests.synthetic import runs as synthetic

Write = Callable[[int, bytes, int], int]


def case(number: int, note: str = "") -> Case:
    return Case(
        experiment="bandwidth",
        method="copy",
        direction="h2d",
        host_memory="pinned",
        bytes=1 << number,
        series=[Series(metric="host_seconds", samples=[1e-6 * number, 2e-6])],
        note=note,
    )


@pytest.fixture
def run() -> Run:
    made: Run = synthetic.run([], end=None)
    return made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.json"


def test_the_file_is_valid_after_every_case(path: Path, run: Run) -> None:
    cases: list[Case] = []
    with RunWriter(path, run) as writer:
        assert read_run(path) == run
        for number in range(1, 20):
            # Notes that grow and shrink: what is written must cover what was there.
            cases.append(case(number, note='"{[\n' * (40 // number)))
            writer.add(cases[-1])
            assert read_run(path) == msgspec.structs.replace(run, cases=cases)
            json.loads(path.read_text("utf-8"))
        end = End(status="complete", seconds=1.5)
        writer.finish(end)
    assert read_run(path) == msgspec.structs.replace(run, cases=cases, end=end)


def test_a_file_that_grows_while_it_is_read_is_read_again(
    path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    all_of = files._all_of
    with RunWriter(path, run) as writer:
        writer.add(case(1))

        def torn(file: BinaryIO, place: Path, what: str) -> bytes:
            """What two reads give between which a case ends."""
            monkeypatch.setattr(files, "_all_of", all_of)
            first = file.read()
            writer.add(case(2))
            return first + path.read_bytes()[len(first) :]

        monkeypatch.setattr(files, "_all_of", torn)
        assert read_run(path).cases == [case(1), case(2)]


def test_a_run_without_cases_is_valid(path: Path, run: Run) -> None:
    with RunWriter(path, run) as writer:
        writer.finish(End(status="interrupted"))
    assert read_run(path) == msgspec.structs.replace(run, end=End(status="interrupted"))


def test_a_writer_that_is_left_without_an_end_leaves_a_valid_file(path: Path, run: Run) -> None:
    with RunWriter(path, run) as writer:
        writer.add(case(1))
    assert read_run(path) == msgspec.structs.replace(run, cases=[case(1)])


@pytest.mark.parametrize("moment", [1, 2, 3])
def test_an_interruption_in_the_middle_of_writing_leaves_a_valid_file(
    path: Path, run: Run, moment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal may arrive when the bytes are in the file, and before the writer has taken note of it."""
    pwrite: Write = os.pwrite

    def interrupted(file: int, data: bytes, offset: int) -> int:
        monkeypatch.undo()
        pwrite(file, data, offset)
        raise KeyboardInterrupt

    with RunWriter(path, run) as writer:
        for number in range(1, moment):
            writer.add(case(number))
        monkeypatch.setattr(os, "pwrite", interrupted)
        with pytest.raises(KeyboardInterrupt):
            writer.add(case(moment, note="x" * 2000))
        end = End(status="interrupted")
        writer.finish(end)
    found = read_run(path)
    assert found.end == end
    assert [item.bytes for item in found.cases] == [2 << number for number in range(moment - 1)]


@pytest.mark.parametrize("taken", [0, 1, 25])
def test_a_disk_that_fills_up_keeps_what_was_there(
    path: Path, run: Run, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pwrite: Write = os.pwrite
    with RunWriter(path, run) as writer:
        writer.add(case(1))
        before = read_run(path)
        full = True

        def short(file: int, data: bytes, offset: int) -> int:
            """Takes a few bytes of a new case, and the old brackets, for which there is room again."""
            return pwrite(file, data[:taken] if full and len(data) > 25 else data, offset)

        monkeypatch.setattr(os, "pwrite", short)
        with pytest.raises(RunFileError) as failure:
            writer.add(case(2))
        assert str(failure.value).startswith(f"{path}: cannot be written: {os.strerror(errno.ENOSPC)}")
        assert "name another place with -o" in str(failure.value)
        assert read_run(path) == before

        full = False
        writer.add(case(3))
        writer.finish(End(status="failed"))
    assert [item.bytes for item in read_run(path).cases] == [2, 8]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a disk that is always full")
def test_a_disk_that_is_full_from_the_start(run: Run) -> None:
    with pytest.raises(RunFileError, match="/dev/full: cannot be created: No space left on device; free some space"):
        RunWriter(Path("/dev/full"), run)
    assert not Path("/dev/full").is_file()


def test_a_file_that_cannot_be_made(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "nowhere" / "run.json"
    with pytest.raises(RunFileError, match=r"cannot be created: No such file or directory; .* -o"):
        RunWriter(path, run)


def test_a_compressed_run_is_plain_until_it_is_finished(tmp_path: Path, run: Run) -> None:
    packed, other = tmp_path / "run.json.gz", tmp_path / "run.json"
    other.write_text("another run's")
    with RunWriter(packed, run) as writer:
        writer.add(case(1))
        assert packed.read_bytes().startswith(b"{")
        assert read_run(packed).cases == [case(1)]
        writer.finish(End(status="complete"))
    assert other.read_text() == "another run's"
    assert {path.name for path in tmp_path.iterdir()} == {"run.json", "run.json.gz"}
    assert gzip.decompress(packed.read_bytes()).startswith(b"{")
    assert read_run(packed) == msgspec.structs.replace(run, cases=[case(1)], end=End(status="complete"))


def test_the_same_run_gives_the_same_compressed_file(tmp_path: Path, run: Run) -> None:
    for name in ("a.json.gz", "b.json.gz"):
        with RunWriter(tmp_path / name, run) as writer:
            writer.finish(End(status="complete"))
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()


def test_an_older_file_of_that_name_is_replaced_whole(path: Path, run: Run) -> None:
    path.write_text("x" * 1_000_000)
    with RunWriter(path, run) as writer:
        writer.finish(End(status="complete"))
    assert read_run(path).end == End(status="complete")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_truncated_file_is_refused(path: Path, run: Run, share: float) -> None:
    with RunWriter(path, run) as writer:
        writer.add(case(1))
        writer.finish(End(status="complete"))
    data = path.read_bytes()
    for content, expected in ((data, "truncated or damaged"), (gzip.compress(data), "damaged gzip data")):
        path.write_bytes(content[: int(len(content) * share)])
        with pytest.raises(RunFileError, match=expected) as failure:
            read_run(path)
        assert str(failure.value).startswith(f"{path}: ")


def test_fields_of_later_versions_are_ignored(path: Path, run: Run) -> None:
    with RunWriter(path, run) as writer:
        writer.finish(End(status="complete"))
    content = json.loads(path.read_text("utf-8"))
    content["unheard_of"] = {"a": [1]}
    path.write_text(json.dumps(content), "utf-8")
    assert read_run(path).run == run.run


def test_values_that_the_schema_does_not_allow_are_named_with_their_place(path: Path, run: Run) -> None:
    with RunWriter(path, run) as writer:
        writer.add(case(1))
    path.write_text(path.read_text("utf-8").replace('"direction":"h2d"', '"direction":"up"'), "utf-8")
    with pytest.raises(RunFileError, match=r"\$.cases\[0\].direction: invalid enum value 'up'"):
        read_run(path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("bytes", -1), ("pieces", -4), ("threads", -1), ("moved_bytes", -1), ("work_ratio", 0), ("work_ratio", -0.3)),
        *(("bytes", 1 << 60), ("rows", (1 << 64) - 1), ("fraction", 1e300), ("work_ratio", 1e-300)),
    ],
)
def test_numbers_that_cannot_be_are_named_with_their_place(path: Path, run: Run, field: str, value: float) -> None:
    with RunWriter(path, run) as writer:
        writer.add(case(1))
    content = json.loads(path.read_text("utf-8"))
    content["cases"][0][field] = value
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(RunFileError, match=rf" is: \$.cases\[0\].{field}: expected"):
        read_run(path)


@pytest.mark.parametrize("metric", ["host_seconds", "elapsed_seconds"])
@pytest.mark.parametrize("seconds", [0.0, 5e-324, 1e-13])
def test_a_time_that_the_clock_was_too_coarse_for_skips_its_case(
    path: Path, run: Run, metric: Metric, seconds: float
) -> None:
    series = [Series(metric=metric, samples=[1e-6, seconds, 2e-6])]
    edited = msgspec.structs.replace(run, cases=[case(1), msgspec.structs.replace(case(2), series=series)])
    path.write_bytes(msgspec.json.encode(edited))
    first, second = read_run(path).cases
    assert not first.skipped
    assert (second.skipped, second.series, second.verified) == (True, [], "n/a")
    assert second.note == f"{metric} left out: samples of 0 s"


def test_what_the_clock_of_a_device_was_too_coarse_for_is_left_out_and_said(path: Path, run: Run) -> None:
    """Such clocks tick by microseconds on some devices, so that a run which was just measured may have such times."""
    one = case(1)
    coarse = [Series(metric="device_seconds", samples=[0.0, 1e-6]), Series(metric="pack_seconds", samples=[0.0])]
    path.write_bytes(
        msgspec.json.encode(
            msgspec.structs.replace(run, cases=[msgspec.structs.replace(one, series=[*one.series, *coarse])])
        )
    )
    (read,) = read_run(path).cases
    assert read.series == [*one.series, coarse[1]]
    assert read.note == "device_seconds left out: samples of 0 s"


def test_a_point_that_is_there_twice_is_refused(path: Path, run: Run) -> None:
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(run, cases=[case(1), case(2), case(1, note="again")])))
    with pytest.raises(RunFileError, match=r"\$\.cases\[2\]: found the same point as \$\.cases\[0\]"):
        read_run(path)
