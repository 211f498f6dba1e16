"""`isthmus report` as a user runs it: real files, exit codes, messages; in a process of its own where that matters."""

import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tests import processes
from tests.processes import Done, python
from tests.synthetic import runs as synthetic

Isthmus = Callable[..., Done]


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    truths: dict[synthetic.Key, synthetic.Truth] = {
        ("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9),
        ("copy", "h2d", "pageable"): synthetic.Truth(8e-6, 8e9, 0.1),
    }
    path = tmp_path / "node17.json"
    path.write_bytes(msgspec.json.encode(synthetic.run(synthetic.cases(truths), name="node17")))
    return path


def test_terminal_is_the_default(isthmus: Isthmus, run_file: Path) -> None:
    done = isthmus("report", run_file)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) <= 40
    assert f"isthmus report {run_file} --all" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_terminal_shows_all_tables_in_a_pager(
    isthmus: Isthmus, run_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paged: list[str] = []
    monkeypatch.setattr("pydoc.pager", paged.append)
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    assert isthmus("report", run_file, "--all").stdout == ""
    assert "Host to device (H2D)" in paged[0]
    assert isthmus("report", run_file).stdout
    assert len(paged) == 1


def test_a_page_goes_beside_the_run_and_its_path_to_standard_output(isthmus: Isthmus, run_file: Path) -> None:
    packed = run_file.with_suffix(".json.gz")
    packed.write_bytes(gzip.compress(run_file.read_bytes()))
    done = isthmus("report", packed, "--format", "html")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{run_file.with_suffix('.html')}\n"
    assert run_file.with_suffix(".html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("name", "start"), [("a.html", "<!doctype"), ("a.md", "# "), ("a.csv", "run,"), ("a.txt", "NVIDIA")]
)
def test_the_suffix_of_the_output_names_the_format(isthmus: Isthmus, run_file: Path, name: str, start: str) -> None:
    done = isthmus("report", run_file, "-o", name)
    assert (done.returncode, done.stdout) == (0, f"{name}\n")
    assert (run_file.parent / name).read_text().startswith(start)


def test_several_runs_in_one_report(isthmus: Isthmus, run_file: Path) -> None:
    done = isthmus("report", run_file, run_file)
    assert done.returncode == 0
    assert "A: NVIDIA H200 (cuda:0), run node17" in done.stdout
    assert "B: NVIDIA H200 (cuda:0), run node17" in done.stdout


VALID = b'{"format":"isthmus.run","schema_version":1,"run":"r","created":"","fingerprint":%s,"cases":%s}'
FINGERPRINT = b'{"isthmus_version":"0.1.0","device":{"backend":"cuda","index":0,"name":"GPU"}}'


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "an empty file"),
        (b'{"format": "isthmus.run", "schema_ver', "truncated or damaged"),
        (b"\x00\x01\x02 not json", "no run file, which is one JSON object: it begins with"),
        (b"Dear colleagues,\nhere", "it begins with 'Dear colleagues,'"),
        (b"[1, 2]", "expected an object with format 'isthmus.run'"),
        (b'{"nvbandwidth": {}}', "an output of nvbandwidth"),
        (b'{"format_of": {}}', "found no format field, expected format 'isthmus.run'"),
        (b'{"format": "other", "schema_version": 1}', "found format 'other', expected format 'isthmus.run'"),
        (b'{"format": "isthmus.run", "schema_version": 99}', "schema version 99, this one reads up to 5"),
        (VALID % (b"{}", b"[]"), "$.fingerprint: object missing required field `isthmus_version`"),
        (VALID % (FINGERPRINT, b'[{"experiment":7}]'), "$.cases[0].experiment: expected `str`, got `int`"),
        (gzip.compress(b'{"format": "isthmus.run"}' * 99, mtime=0)[:-20], "damaged gzip data"),
        (b"\x1f\x8b\x08 no gzip", "damaged gzip data"),
    ],
)
def test_a_bad_file_is_named_with_place_and_expectation(
    isthmus: Isthmus, run_file: Path, content: bytes, expected: str
) -> None:
    bad = run_file.with_name("bad.json")
    bad.write_bytes(content)
    done = isthmus("report", run_file, bad)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"isthmus: {bad}: ")
    assert expected in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_file_that_cannot_be_read(isthmus: Isthmus) -> None:
    done = isthmus("report", "nowhere.json")
    assert done.returncode == 2
    assert done.stderr.startswith("isthmus: nowhere.json: cannot be read: No such file")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--format", "htlm"], "no such format: 'htlm'; did you mean 'html'?"),
        (["--format", "yaml"], "no such format: 'yaml'; expected one of terminal, markdown, html, json, csv"),
        (["--formt", "csv"], "--format"),
        (["-o", "nowhere/page.html"], "nowhere/page.html: cannot be written: No such file or directory"),
        (["-o", "node17.json"], "would be overwritten"),
    ],
)
def test_usage_errors_are_one_line_and_offer_a_way_out(
    isthmus: Isthmus, run_file: Path, words: list[str], expected: str
) -> None:
    before = run_file.read_bytes()
    done = isthmus("report", run_file, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("isthmus: ")
    assert expected in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert run_file.read_bytes() == before


def test_report_without_a_run_and_an_unknown_command(isthmus: Isthmus) -> None:
    assert (isthmus("report").returncode, isthmus("reprot").returncode) == (2, 2)
    assert "'report'" in isthmus("reprot").stderr


def test_a_reader_that_stops_reading_is_no_failure(run_file: Path) -> None:
    command = [sys.executable, "-m", "isthmus", "report", str(run_file), "--format", "csv"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, a disk that is always full")
def test_a_full_disk_behind_standard_output_is_said(run_file: Path) -> None:
    command = [sys.executable, "-m", "isthmus", "report", str(run_file)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "isthmus: standard output: No space left on device\n"


def test_a_terminal_without_the_sign_still_gets_its_report(run_file: Path) -> None:
    done = processes.isthmus("report", run_file, "--all", env={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "settles" in done.stdout


def test_it_loads_no_driver_nor_anything_that_measures(run_file: Path) -> None:
    code = (
        "import sys; from isthmus.commands import main; "
        f"main(['report', {str(run_file)!r}, '--format', 'html', '-o', {str(run_file.with_suffix('.html'))!r}]); "
        "loaded = [name for name in sys.modules if name.startswith(('isthmus.experiment', 'isthmus.machine'))]; "
        "drivers = [name for name in ('libcuda', 'libOpenCL') if name in open('/proc/self/maps').read()]; "
        "print(loaded, drivers)"
    )
    done = python(code)
    assert done.stdout.splitlines()[-1] == "[] []"


def test_help_loads_no_library_for_charts_or_statistics() -> None:
    code = (
        "import sys; from isthmus.commands import main; main(['--help']); "
        "print({'jinja2', 'vl_convert'} & set(sys.modules))"
    )
    done = python(code)
    assert done.stdout.splitlines()[-1] == "set()"


@pytest.mark.thorough
@pytest.mark.parametrize(("language", "words"), [("ja", "帯域幅"), ("zh", "带宽"), ("en", "Bandwidth")])
def test_reports_are_written_in_the_language_asked_for(
    isthmus: Isthmus, run_file: Path, language: str, words: str
) -> None:
    done = isthmus("report", run_file, "--lang", language, "--format", "markdown")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"## {words}" in done.stdout
    page = isthmus("report", run_file, "--lang", language, "-o", "page.html")
    assert page.returncode == 0
    assert f'<html lang="{language}">' in run_file.with_name("page.html").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_figures_have_the_same_names_in_every_language(isthmus: Isthmus, run_file: Path) -> None:
    listed = [isthmus("report", run_file, "--figures", "--lang", language) for language in ("en", "ja")]
    names, japanese = ([line.split()[0] for line in done.stdout.splitlines()] for done in listed)
    assert names[0] == "bandwidth-rate-h2d"
    assert names == japanese
    assert len(set(names)) == len(names)
    several = isthmus("report", run_file, run_file, "--figures")
    assert [line.split()[0] for line in several.stdout.splitlines()][:2] == [f"{names[0]}-a", f"{names[0]}-b"]


@pytest.mark.thorough
@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<svg"), (".png", b"\x89PNG")])
def test_a_figure_is_a_picture_of_its_own(isthmus: Isthmus, run_file: Path, suffix: str, start: bytes) -> None:
    done = isthmus("report", run_file, "--figure", "bandwidth-rate-h2d", "-o", f"rate{suffix}")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"rate{suffix}\n", "")
    content = run_file.with_name(f"rate{suffix}").read_bytes()
    assert content.startswith(start)
    if suffix == ".svg":
        text = content.decode()
        assert all(words in text for words in ("Rate against size", "Host to device (H2D)", "pinned", "link 63.0 GB/s"))
        # The page's variables mean nothing in a file of its own.
        assert "var(--" not in text


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--figure", "bandwidth-rate-h3d"], "did you mean 'bandwidth-rate-h2d'?"),
        (["--figure", "nothing"], "of isthmus report RUN --figures\n"),
        (["--figure", "bandwidth-rate-h2d", "-o", "rate.pdf"], "a figure is written as .svg or .png"),
        (["--figures", "--format", "html"], "take no --format"),
    ],
)
def test_a_figure_that_cannot_be_written(isthmus: Isthmus, run_file: Path, words: list[str], expected: str) -> None:
    done = isthmus("report", run_file, *words)
    assert done.returncode == 2
    assert expected in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_run_of_skips_alone_has_no_figures(isthmus: Isthmus, run_file: Path) -> None:
    skipped = synthetic.skips(("copy", "h2d", "pinned"), [1], "no memory left")
    run_file.write_bytes(msgspec.json.encode(synthetic.run(skipped)))
    assert isthmus("report", run_file, "--figures").stdout == ""
    done = isthmus("report", run_file, "--figure", "bandwidth-rate-h2d")
    assert done.returncode == 2
    assert "no figures" in done.stderr


def test_a_folder_is_all_of_its_runs(isthmus: Isthmus, run_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "shared" / "node18"
    folder.mkdir(parents=True)
    (folder.parent / "node17.json").write_bytes(run_file.read_bytes())
    (folder / "node18.json.gz").write_bytes(gzip.compress(run_file.read_bytes()))
    (folder / "other.json").write_text("{}")
    (folder / "page.html").write_text("")
    done = isthmus("report", folder.parent, "--format", "csv")
    assert done.returncode == 0
    assert done.stderr.count("left out") == 1
    assert "other.json: not an Isthmus run" in done.stderr
    alone = isthmus("report", run_file, "--format", "csv")
    assert len(done.stdout.splitlines()) - 1 == 2 * (len(alone.stdout.splitlines()) - 1)


def test_a_folder_of_many_runs_is_one_for_isthmus_fleet(isthmus: Isthmus, run_file: Path, tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number in range(9):
        (tmp_path / "many" / f"{number}.json").write_bytes(run_file.read_bytes())
    done = isthmus("report", "many")
    assert (done.returncode, done.stdout) == (2, "")
    assert "many: 9 files, too many for one report" in done.stderr
    assert "isthmus fleet many" in done.stderr
    (tmp_path / "none").mkdir()
    assert "no run files in none" in isthmus("report", "none").stderr
