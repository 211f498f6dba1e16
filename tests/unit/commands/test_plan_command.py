"""`isthmus plan` from its command line to what it prints, in this process, with runs whose truth is known."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from isthmus.commands.main import main
from isthmus.experiment.contenders import measure
from isthmus.machine import devices
from isthmus.machine import host as machine
from isthmus.record import Device, Host
from tests.synthetic import batching as synthetic_batching
from tests.synthetic import breakeven as synthetic_breakeven
from tests.synthetic import runs as synthetic

NEEDS = [
    ["--bytes", "64MiB", "--uses", "100"],
    ["--bytes", "3MiB", "--source", "new", "--direction", "both"],
    ["--bytes", "3MiB", "--source", "pinned", "--direction", "d2h"],
    ["--bytes", "64MiB", "--compute", "5ms", "--chunks", "auto"],
    ["--pieces", "300", "--piece-bytes", "3KiB", "--source", "pinned"],
]
KANA_OR_HAN = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")


@pytest.fixture(scope="module")
def run_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = synthetic.run([*synthetic_breakeven.everything(), *synthetic_batching.h200_cases()], name="node17")
    path = tmp_path_factory.mktemp("runs") / "node17.json"
    path.write_bytes(msgspec.json.encode(run, enc_hook=float))
    return path


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Device:
    """This machine, with a GPU and a cache that is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    device: Device = synthetic.gpu()
    monkeypatch.setattr(devices, "probe", synthetic.probe_of(device))
    monkeypatch.setattr(machine, "read_host", lambda: Host(name="node17"))
    return device


MEASURED = [
    (["--bytes", "64KiB", "--uses", "3"], {"pageable", "isthmus", "registered", "staging", "pinned"}),
    (["--bytes", "64KiB", "--source", "pinned", "--direction", "d2h"], {"pinned", "isthmus", "mapped"}),
    (["--bytes", "64KiB"], {"pageable", "touched_registered_huge"}),
    (["--pieces", "30", "--piece-bytes", "1KiB"], {"isthmus", "copy_rows"}),
    (["--bytes", "64KiB", "--source", "new", "--direction", "both"], {"pageable", "isthmus", "pinned", "registered"}),
    (["--pieces", "20", "--piece-bytes", "300"], {"copies", "batch", "pack", "pack_threads", "isthmus"}),
    (["--rows", "50", "--width", "8", "--pitch", "1KiB"], {"section", "copies", "pack_threads", "isthmus"}),
]


@pytest.mark.parametrize(("words", "ways"), MEASURED, ids=lambda each: " ".join(each) if isinstance(each, list) else "")
def test_without_a_run_the_ways_are_measured_and_the_fastest_is_named(
    monkeypatch: pytest.MonkeyPatch, words: list[str], ways: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measure, "SECONDS", 0.6)
    monkeypatch.setattr(measure.measure_ways, "__defaults__", (0.6, 0))
    assert main(["plan", *words, "--device", "host", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["measured"]
    # Of ways that a busy machine did not reach in time one may be faster.
    assert found["fastest"] == (None if found["unpriced"] else found["ways"][0]["name"])
    named = {way["name"] for way in found["ways"]}
    assert ways <= named | set(found["ruled_out"]) | set(found["unpriced"])
    assert all(way["samples"] > 0 for way in found["ways"])
    assert all(way["seconds"]["low"] <= way["seconds"]["median"] <= way["seconds"]["high"] for way in found["ways"])


def test_the_first_screen_is_short_and_says_that_it_was_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measure.measure_ways, "__defaults__", (0.6, 0))
    assert main(["plan", "--bytes", "64KiB", "--uses", "3", "--device", "host"]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= 25
    assert "Measured now on" in out
    assert "data verified" in out


def test_wrong_data_is_no_way(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(measure.measure_ways, "__defaults__", (0.4, 0))
    words = ["plan", "--bytes", "64KiB", "--source", "pinned", "--device", "host:fault=copy:partial", "--json"]
    main(words)
    found = json.loads(capsys.readouterr().out)
    assert "pinned" not in {way["name"] for way in found["ways"]}
    assert found["unknown"]["pinned"] == "the data arrived wrong"


@pytest.mark.parametrize("words", NEEDS, ids=" ".join)
@pytest.mark.parametrize("language", ["en", "ja", "zh"])
def test_every_kind_of_need_is_answered_in_every_language(
    run_file: Path, capsys: pytest.CaptureFixture[str], words: list[str], language: str
) -> None:
    assert main(["plan", *words, "--run", str(run_file), "--explain", "--lang", language]) == 0
    out = capsys.readouterr().out
    assert bool(KANA_OR_HAN.search(out)) == (language != "en")
    # No name of a way, a step or a key in place of its words.
    told = re.split(r"\n\S*(?:import|#include)", out)[0].replace("node17", "")
    assert not re.search(r"[a-z]+_[a-z]+", re.sub("copy_batch|pinned_empty", "", told)), out


@pytest.mark.parametrize("language", ["cuda", "torch", "cupy", "opencl"])
def test_a_snippet_follows_the_answer(run_file: Path, capsys: pytest.CaptureFixture[str], language: str) -> None:
    words = ["plan", "--bytes", "64MiB", "--source", "pinned", "--run", str(run_file), "--snippet", language]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert f"\nIn {language} (the driver's copy):\n" in out
    assert str(64 << 20) in out.partition(f"In {language}")[2]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["snippet"]
    assert (found["language"], found["way"]) == (language, "pinned")
    assert found["code"].strip() in out


@pytest.mark.parametrize("name", ["plan.md", "plan.html", "plan.json", "plan.txt"])
def test_a_plan_is_written_in_the_format_of_its_file(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    words = ["plan", *NEEDS[0], "--run", str(run_file), "--explain", "--snippet", "torch", "-o", str(tmp_path / name)]
    assert main(words) == 0
    assert capsys.readouterr().out == f"{tmp_path / name}\n"
    assert "registered" in (tmp_path / name).read_text() or "register in place" in (tmp_path / name).read_text()


def test_a_run_that_lacks_everything_ends_with_what_to_measure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "skips.json"
    skips = synthetic.skips(("copy", "h2d", "pageable"), [4096], "no memory")
    path.write_bytes(msgspec.json.encode(synthetic.run(skips, name="skips")))
    assert main(["plan", "--bytes", "1MiB", "--run", str(path)]) == 2
    captured = capsys.readouterr()
    assert "no memory" in captured.out
    assert "cannot price any way to do that" in captured.err
    assert "isthmus measure allocation bandwidth breakeven" in captured.err


def test_a_device_that_is_not_here_is_its_own_error(here: Device, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *NEEDS[0], "--device", "cuda:3"]) == 3
    assert "no device cuda:3 here" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to plan"),
        (["--bytes", "1MiB", "--uses", "0"], "--uses"),
        (["--bytes", "1MiB", "--lang", "fr"], "no such language: 'fr'; expected one of en, ja, zh"),
        (["--bytes", "1MiB", "--snippet", "fortran"], "no snippets in 'fortran'; expected one of cuda, torch"),
        (["--bytes", "1MiB", "--run", "nowhere.json"], "nowhere.json"),
        (["--bytes", "1MiB", "--run", "a.json", "--device", "host"], "leave one of them out"),
    ],
)
def test_usage_errors_say_what_fits(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *words]) == 2
    assert message in capsys.readouterr().err
