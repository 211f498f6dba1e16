"""What a command writes over, and what it leaves alone: the files of others, and those that nobody named."""

import gzip
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from msgspec.structs import replace

from isthmus.commands._own_files import check_replaceable, free_path, marked
from isthmus.commands.main import main
from isthmus.compare.reference import made_reference
from isthmus.errors import UsageError
from isthmus.record import End, Run, RunWriter, read_run
from tests.synthetic import runs as synthetic

RESULTS = Path(__file__).resolve().parents[3] / "results"


def save(path: Path, run: Run) -> Path:
    with RunWriter(path, run) as writer:
        for case in run.cases:
            writer.add(case)
        writer.finish(End(status="complete"))
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    ways = [("copy", way, memory) for way in ("h2d", "d2h") for memory in ("pinned", "pageable")]
    truth = dict.fromkeys(ways, synthetic.Truth(7e-6, 55e9))
    return save(tmp_path / "run.json", synthetic.run(synthetic.cases(truth)))


OTHERS = {
    "page.html": b"<!doctype html><title>Holidays</title>Isthmus: run",
    "notes.md": b"# Report of Isthmus 0.1.0\n",
    "table.csv": b"run,device\n",
    "some.json": b'{"mine": {"format": "isthmus.run"}}',
    "torch.json": b'{"displayTimeUnit":"ns","traceEvents":[',
    "run.json.gz": gzip.compress(b'{"mine": 1}'),
    "torn.json.gz": gzip.compress(b'{"format":"isthmus.run"}')[:12],
    "a.parquet": b"PAR1 somebody's PAR1",
    "a.svg": b"<svg></svg>",
    "a.png": b"\x89PNG\r\n\x1a\n",
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_others_wrote_is_replaced_by_force_alone(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(OTHERS[name])
    with pytest.raises(UsageError, match=rf"{name}: is there already, a file of \d+ bytes, changed 20\S+ \S+, that Is"):
        check_replaceable(path, force=False)
    check_replaceable(path, force=True)


def test_links_are_others_and_what_is_empty_is_nobodys(tmp_path: Path, run: Path) -> None:
    link, empty = tmp_path / "latest.json", tmp_path / "made-by-mktemp.html"
    link.symlink_to(run)
    empty.touch()
    with pytest.raises(UsageError, match=r"latest\.json: is there already, a link to .*run\.json; name"):
        check_replaceable(link, force=False)
    for path in (run, empty, tmp_path / "nothing", tmp_path, Path(os.devnull), Path("/dev/stdout")):
        check_replaceable(path, force=False)


def test_files_of_every_kind_that_isthmus_writes_are_known(tmp_path: Path, run: Path) -> None:
    content = read_run(run)
    packed = save(tmp_path / "packed.json.gz", content)
    reference = tmp_path / "reference.json.gz"
    reference.write_bytes(made_reference("mine", [content]).encoded())
    table = tmp_path / "table"
    table.write_text("isthmus transfer table 1\n")
    trace = tmp_path / "a.itrace"
    trace.write_bytes(b"ISTHTRC1" + bytes(4088))
    for path in (run, packed, reference, table, trace, *RESULTS.glob("*.html"), *RESULTS.glob("h100*.json.gz")):
        check_replaceable(path, force=False)


COMMANDS = [
    ("report RUN", "out.md"),
    ("compare RUN RUN", "out.txt"),
    ("fleet RUN", "out.csv"),
    ("plan --bytes 4MiB --source pinned --run RUN", "out.json"),
    ("devices --idle", "out.json"),
]


@pytest.mark.parametrize(("words", "name"), COMMANDS, ids=lambda words: words.split()[0])
def test_commands_replace_their_own_and_others_by_force(
    tmp_path: Path, run: Path, capsys: pytest.CaptureFixture[str], words: str, name: str
) -> None:
    command = [str(run) if word == "RUN" else word for word in words.split()]
    output = tmp_path / name
    assert main([*command, "-o", str(output)]) == 0
    assert main([*command, "-o", str(output)]) == 0
    output.write_text("my own words")
    capsys.readouterr()
    assert main([*command, "-o", str(output)]) == 2
    assert f"{output}: is there already, a file of 12 bytes" in capsys.readouterr().err
    assert output.read_text() == "my own words"
    assert main([*command, "-o", str(output), "--force"]) == 0
    assert output.read_text() != "my own words"


def test_a_page_that_nobody_named_replaces_only_a_page_of_the_same_run(
    tmp_path: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "run.html"
    page.write_text("my own page")
    for _ in range(2):
        assert main(["report", str(run), "--format", "html"]) == 0
        assert capsys.readouterr().out == f"{tmp_path / 'run.2.html'}\n"
    assert page.read_text() == "my own page"
    page.unlink()
    for _ in range(2):
        assert main(["report", str(run), "--format", "html"]) == 0
        assert capsys.readouterr().out == f"{page}\n"
    before = page.read_text()
    # One of two runs is another, which the page of the first does not give way to.
    other = save(tmp_path / "other.json", replace(read_run(run), run="another-run"))
    assert main(["report", str(run), str(other), "--format", "html"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'run.3.html'}\n"
    assert page.read_text() == before


def test_a_figure_that_nobody_named_likewise(tmp_path: Path, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "bandwidth-rate-h2d"
    path = tmp_path / f"{name}.svg"
    path.write_text("<svg/>")
    for _ in range(2):
        assert main(["report", str(run), "--figure", name]) == 0
        assert capsys.readouterr().out == f"{tmp_path / f'{name}.2.svg'}\n"
    assert path.read_text() == "<svg/>"
    assert main(["report", str(run), "--figure", name, "-o", str(path)]) == 2
    assert main(["report", str(run), "--figure", name, "-o", str(path), "--force"]) == 0
    png = tmp_path / "a.png"
    for _ in range(2):
        assert main(["report", str(run), "--figure", name, "-o", str(png)]) == 0


def test_a_picture_says_who_made_it_and_stays_one() -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    rest = chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
    made = marked(head + rest, "png", "a run")
    own = made.removeprefix(head).removesuffix(rest)
    assert own == chunk(b"tEXt", b"Software\0" + own[8 + 9 : -4])
    assert own[8 + 9 : -4].startswith(b"Report of Isthmus ")
    assert own[:-4].endswith(b", a run")


def test_a_name_of_a_run_ends_no_comment(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    path.write_bytes(marked(b"<svg/>", "svg", "a run\n--><script>\x00</script>"))
    assert path.read_bytes().count(b"-->") == 1
    assert path.read_bytes().isascii()
    assert b"\0" not in path.read_bytes()
    check_replaceable(path, force=False)


def test_a_free_name_is_the_first(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    assert free_path(path) == path
    path.symlink_to("nowhere")
    assert free_path(path) == tmp_path / "a.2.html"
    (tmp_path / "a.2.html").touch()
    assert free_path(path) == tmp_path / "a.3.html"


def test_a_report_that_goes_to_a_stream_is_all_that_goes_there(tmp_path: Path, run: Path) -> None:
    for out in ("pipe", "file"):
        path = tmp_path / "out.csv"
        with path.open("wb") as file:
            ended = subprocess.run(
                [sys.executable, "-m", "isthmus", "report", run, "--format", "csv", "-o", "/dev/stdout"],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
                stdout=file if out == "file" else subprocess.PIPE,
                check=True,
            )
        printed = path.read_bytes() if out == "file" else ended.stdout
        assert printed.startswith(b"run,backend,device,")
        assert len({line.count(b",") for line in printed.splitlines()}) == 1


MEASURE = ["measure", "bandwidth", "--device", "host", "--quick", "--sizes", "4KiB", "--time", "0.1s"]


def test_a_measurement_replaces_runs_alone_and_leaves_a_page_that_is_no_page_of_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, page = tmp_path / "run.json", tmp_path / "run.html"
    path.write_text('{"mine": 1}')
    page.write_text("my own page")
    assert main([*MEASURE, "-o", str(path)]) == 2
    out, said = capsys.readouterr()
    assert (out, "measuring" in said) == ("", False), "refused before anything is measured"
    assert path.read_text() == '{"mine": 1}'
    path.unlink()
    for _ in range(2):
        assert main([*MEASURE, "-o", str(path)]) == 0
        assert f"{tmp_path / 'run.2.html'}\n" in capsys.readouterr().out
        (tmp_path / "run.2.html").unlink()
    assert page.read_text() == "my own page"
    page.unlink()
    for _ in range(2):
        assert main([*MEASURE, "-o", str(path)]) == 0
        assert f"{page}\n" in capsys.readouterr().out


def test_two_measurements_in_one_second_have_a_file_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("isthmus.commands.measure.stamped", lambda name: f"{name}-now.json")
    for _ in range(2):
        assert main(MEASURE) == 0
    kept = tmp_path / "isthmus" / "runs"
    out = capsys.readouterr().out
    assert f"{kept}/isthmus-now.2.html\n" in out
    assert f"{kept}/isthmus-now.2.json" in out
    names = {"isthmus-now.json", "isthmus-now.html", "isthmus-now.2.json", "isthmus-now.2.html"}
    assert {path.name for path in kept.iterdir()} == names
    assert main([*MEASURE[:-1], "wrong"]) == 2
    assert len(list(kept.iterdir())) == 4, "nothing stays of a run that was not begun"
    assert not list((tmp_path / "here").iterdir()), "nothing is dropped into the current folder"


def test_a_run_is_measured_and_shown_where_the_state_folder_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "other").mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "other"))
    assert main(MEASURE) == 0
    shown = capsys.readouterr()
    (run_file,) = (tmp_path / "other").glob("isthmus-*/*.json")
    assert "nothing is kept in the state folder: " in shown.err
    assert "name a file with -o" in shown.err
    assert str(run_file) in shown.out
    assert run_file.with_suffix(".html").exists()


@pytest.mark.parametrize("name", ["mine.itrace", "mine.html"])
def test_a_program_is_not_run_where_its_trace_would_replace_something(tmp_path: Path, name: str) -> None:
    path, proof = tmp_path / name, tmp_path / "it-ran"
    path.write_text("mine")
    assert main(["trace", "-o", str(path), "--", "touch", str(proof)]) == 2
    assert path.read_text() == "mine"
    assert not proof.exists()


def test_a_table_does_not_replace_anything_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "table"
    path.write_text("mine")
    assert main(["calibrate", "--device", "host", "-o", str(path)]) == 2
    assert "is there already, a file of 4 bytes" in capsys.readouterr().err
    assert path.read_text() == "mine"
