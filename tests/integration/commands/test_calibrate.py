"""`isthmus calibrate` as a user runs it: what it keeps and shows, and what mistakes and faults cost."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus import _native
from isthmus.experiment.calibration import calibrate
from isthmus.experiment.calibration.calibrate import Calibration
from isthmus.machine.devices import OpenDevice
from tests.processes import Done

Isthmus = Callable[..., Done]


@pytest.fixture
def isthmus(isthmus: Isthmus, tmp_path: Path) -> Isthmus:
    """Runs `isthmus calibrate` with these words; its cache is a folder of the test."""
    return lambda *words: isthmus("calibrate", *words, XDG_CACHE_HOME=str(tmp_path / "cache"))


@pytest.fixture
def in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is measured is the table that is built in."""

    def measured(device: OpenDevice, *_: object) -> Calibration:
        return Calibration(_native.default_transfer_table("host", "as measured"), [], [], {}, [], [])

    monkeypatch.setattr(calibrate, "calibrate", measured)


def tables(folder: Path) -> list[Path]:
    return sorted((folder / "cache" / "isthmus" / "tables").glob("*"))


@pytest.mark.parametrize("measured", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_a_machine_has_its_table_afterwards(
    isthmus: Isthmus, tmp_path: Path, request: pytest.FixtureRequest, measured: bool
) -> None:
    if not measured:
        request.getfixturevalue("in_no_time")
    before = json.loads(isthmus("--device", "host", "--show", "--json").stdout)
    assert before["built_in"] is True
    done = isthmus("--device", "host", "--quick")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    (kept,) = tables(tmp_path)
    # Of a table that is as the one built in, its place is nothing to show.
    assert not measured or str(kept) in done.stdout
    assert "Buffers in pageable memory" in done.stdout
    table = _native.read_transfer_table(str(kept))
    shown = json.loads(isthmus("--device", "host", "--show", "--json").stdout)
    assert shown == {
        "format": "isthmus.calibration",
        "path": str(kept),
        "origin": table.origin,
        "built_in": False,
        "buffers": table.buffers,
        "direct": table.direct,
        "kernels": table.kernels,
        "pieces": table.pieces,
        "ways": [],
    }


@pytest.mark.thorough
def test_a_table_may_be_written_elsewhere_and_printed_for_scripts(isthmus: Isthmus, tmp_path: Path) -> None:
    done = isthmus("--device", "host:rate=25GB/s", "--quick", "-o", "here/my.table", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["path"] == "here/my.table"
    assert "pretends rate=25GB/s" in _native.read_transfer_table(str(tmp_path / "here" / "my.table")).origin
    assert tables(tmp_path) == []


@pytest.mark.usefixtures("in_no_time")
def test_what_a_host_pretends_is_not_kept(isthmus: Isthmus, tmp_path: Path) -> None:
    done = isthmus("--device", "host:rate=25GB/s", "--quick")
    assert done.returncode == 0
    assert "not kept: what a host pretends is no machine; -o FILE writes it" in done.stderr
    assert tables(tmp_path) == []


@pytest.mark.thorough
def test_the_cuda_backend_is_calibrated(own_process: Isthmus, tmp_path: Path, compiled: Callable[..., Path]) -> None:
    fake = {"LD_LIBRARY_PATH": str(compiled("fake_cuda.cpp").parent), "FAKE_CUDA_DEVICES": "2"}
    done = own_process("calibrate", "--device", "cuda:0", "--quick", XDG_CACHE_HOME=str(tmp_path / "cache"), **fake)
    assert done.returncode == 0, done.stderr
    (kept,) = tables(tmp_path)
    # Whether another link gains is for the machine to say.
    assert ("Links of other devices" in done.stdout) == bool(_native.read_transfer_table(str(kept)).ways)
    assert kept.name.startswith("cuda-GPU-")
    blocks = {rule["direction"]: rule["blocks"] for rule in _native.read_transfer_table(str(kept)).kernels}
    assert set(blocks) == {"h2d", "d2h"}
    assert {rule["device"] for rule in _native.read_transfer_table(str(kept)).ways} <= {"0000:b0:00.0"}
    methods = {rule["method"] for rule in _native.read_transfer_table(str(kept)).pieces}
    assert methods <= {"copies", "section", "batch", "kernel", "device_pack", "pack", "pack_threads", "pack_kernel"}


def test_a_cache_that_others_may_write_to_is_refused_before_a_minute_is_spent(isthmus: Isthmus, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "isthmus"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    done = isthmus("--device", "host")
    assert done.returncode == 2
    assert f"{folder}: others may write to it" in done.stderr
    assert "calibrating" not in done.stderr
    assert tables(tmp_path) == []


def test_a_table_that_cannot_be_used_is_shown_as_such(isthmus: Isthmus, tmp_path: Path) -> None:
    path = json.loads(isthmus("--device", "host", "--show", "--json").stdout)["path"]
    Path(path).parent.mkdir(parents=True)
    Path(path).parents[1].chmod(0o700)
    Path(path).write_text("isthmus transfer table 99\n")
    done = isthmus("--device", "host", "--show")
    assert done.returncode == 0
    assert "cannot be used" in done.stdout
    assert "found version '99'" in done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--show", "--quick"), 2, "--show measures nothing"),
        (("--show", "-o", "a.table"), 2, "--show measures nothing"),
        (("--device", "cuda:99"), 3, "cuda"),
        (("--device", "hist"), 2, "did you mean host?"),
        (("--device", "host:fault=copy:partial", "--quick"), 1, "wrong data"),
        (("--device", "host:fault=copy:fail@20", "--quick"), 1, "copy"),
        (("--device", "host", "--quick", "-o", "/dev/null/a.table"), 2, "the table cannot be written"),
    ],
)
def test_what_goes_wrong_is_said_and_keeps_no_table(
    isthmus: Isthmus, tmp_path: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    done = isthmus(*words)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert ("calibrating" in done.stderr) == (code == 1), "a minute is spent where it may bring something"
    assert tables(tmp_path) == []
