"""`isthmus fleet` as a user runs it: folders, formats, exit codes, messages, and files from anybody."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from isthmus.commands import main
from isthmus.record import MIB, Link
from tests.synthetic import fleet as synthetic_fleet

FleetCommand = Callable[..., tuple[int, str, str]]
EVIL = '<script>alert(1)</script>"\x1b[2J\n-o'


@pytest.fixture
def fleet(capsys: pytest.CaptureFixture[str]) -> FleetCommand:
    """Runs one command line in this process: exit code, standard output, standard error."""

    def run(*words: str | Path) -> tuple[int, str, str]:
        code = main(["fleet", *map(str, words)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def right(tmp_path: Path) -> Path:
    return synthetic_fleet.save_hosts(tmp_path / "right", 4)


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """A narrow link on n3 and a switch on n1."""
    of = synthetic_fleet.fingerprint("n3", 2, link=Link(generation=5, width=8))
    slow: dict[tuple[int, int], Any] = {(1, index): synthetic_fleet.together_only(1.6) for index in range(4)}
    slow[3, 2] = synthetic_fleet.member("n3", 2, synthetic_fleet.by_link(2.0), of=of)
    return synthetic_fleet.save_hosts(tmp_path / "slow", 8, slow)


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A slow device on a host whose name is markup, a command for terminals and an option."""
    folder: Path = synthetic_fleet.save_hosts(tmp_path / "evil", 4)
    of = synthetic_fleet.fingerprint(EVIL, 0)
    device = msgspec.structs.replace(of.device, pci_address="0; rm -rf ~", link=Link(generation=4, width=1))
    of = msgspec.structs.replace(of, device=device)
    member = synthetic_fleet.member(EVIL, 0, synthetic_fleet.by_link(3.0), of=of)
    synthetic_fleet.save(synthetic_fleet.fleet([member]), folder / "evil.json")
    return folder


def test_a_right_fleet(fleet: FleetCommand, right: Path) -> None:
    code, out, err = fleet(right, "--fail-if", "outliers")
    assert (code, err) == (0, "")
    assert "None of 32 devices is slow" in out


def test_a_fleet_of_small_transfers_alone_shows_them(fleet: FleetCommand, tmp_path: Path) -> None:
    """Where there are large ones, those suffice in a terminal."""
    whole = synthetic_fleet.fleet([synthetic_fleet.member("n0", index) for index in range(4)])
    kept = [place for place, point in enumerate(whole.points) if point.bytes < MIB]
    members = [
        msgspec.structs.replace(each, summaries=[each.summaries[place] for place in kept]) for each in whole.members
    ]
    small = msgspec.structs.replace(whole, points=[whole.points[place] for place in kept], members=members)
    _, out, _ = fleet(synthetic_fleet.save(small, tmp_path / "small.json"))
    assert re.search(r"bandwidth D2H pageable, driver, below 64 KiB +[\d.]+ us +[\d.]+ us", out)
    _, out, _ = fleet(synthetic_fleet.save(whole, tmp_path / "whole.json"))
    assert "below 64 KiB" not in out
    assert re.search(r"bandwidth D2H pageable, driver, .* GB/s", out)


def test_a_gate_that_judges_nothing_does_not_hold(fleet: FleetCommand, tmp_path: Path) -> None:
    few = synthetic_fleet.save(synthetic_fleet.fleet([synthetic_fleet.member("n0", 0)]), tmp_path / "few.json")
    code, out, err = fleet(few, "--fail-if", "outliers")
    assert code == 2
    assert "Nothing to judge by" in out
    assert "--fail-if outliers judged nothing: fewer than 3 devices of a kind; name a reference" in err
    assert fleet(few, "--fail-if", "outliers", "--reference", "h200-pcie5")[0] in {0, 1}


@pytest.mark.parametrize("format_name", ["slurm", "kubectl"])
def test_an_empty_list_says_where_nothing_was_judged(fleet: FleetCommand, format_name: str, tmp_path: Path) -> None:
    few = synthetic_fleet.save(synthetic_fleet.fleet([synthetic_fleet.member("n0", 0)]), tmp_path / "few.json")
    code, out, err = fleet(few, "--format", format_name)
    assert (code, out) == (0, "")
    assert err.startswith("isthmus: Nothing to judge by: fewer than 3 devices of a kind")
    assert fleet(few, "--format", format_name, "--lang", "ja")[2].startswith("isthmus: 判定できません")
    # The gate's own words suffice.
    assert "Nothing to judge by" not in fleet(few, "--format", format_name, "--fail-if", "outliers")[2]


def test_the_gate_says_who_fails_it(fleet: FleetCommand, slow: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    code, out, err = fleet(slow, "--fail-if", "outliers", "-o", page)
    assert (code, out) == (1, f"{page}\n")
    assert err.startswith("isthmus: outliers fails: n3 cuda:2 loses 5")
    assert "(link)" in err
    assert err.endswith("; and 2 more\n")
    assert page.exists()


def test_prometheus_text(fleet: FleetCommand, evil: Path) -> None:
    _, out, _ = fleet(evil, "--format", "prometheus")
    sample = re.compile(r'(\w+)(\{(\w+="(\\[\\"n]|[^"\\\n])*",?)*\})? -?[0-9.e+-]+')
    names = []
    for line in out.removesuffix("\n").split("\n"):
        if not line.startswith("# "):
            match = sample.fullmatch(line)
            assert match, line
            names.append(match[1])
    # Prometheus wants all samples of a name together.
    assert len([name for place, name in enumerate(names) if name not in names[max(0, place - 1) : place]]) == len(
        set(names)
    )
    assert "isthmus_fleet_median_seconds" in names
    assert "isthmus_fleet_slow_device" in names


@pytest.mark.parametrize("format_name", ["terminal", "markdown", "html", "json", "slurm", "kubectl", "csv"])
def test_names_from_anybody_do_nothing(fleet: FleetCommand, evil: Path, format_name: str) -> None:
    code, out, err = fleet(evil, "--format", format_name)
    assert code == 0
    assert "\x1b" not in out
    assert "\x1b" not in err
    if format_name in ("html", "markdown"):
        assert "<script>alert" not in out
    if format_name in ("slurm", "kubectl"):
        assert out == ""
        assert "Not in the list of suspects" in err
    if format_name == "json":
        assert json.loads(out)["outliers"][0]["next"].startswith("sudo lspci -vv -s '0; rm -rf ~' ")


def test_the_gate_says_odd_names_in_one_line(fleet: FleetCommand, evil: Path) -> None:
    code, _, err = fleet(evil, "--fail-if", "outliers", "--format", "slurm")
    assert code == 1
    assert "\x1b" not in err
    assert err.count("\n") == 2


@pytest.mark.parametrize("language", ["en", "ja", "zh"])
@pytest.mark.parametrize("format_name", ["terminal", "markdown", "html"])
def test_every_language(fleet: FleetCommand, slow: Path, language: str, format_name: str) -> None:
    (slow / "log.txt").write_text("x")
    code, out, _ = fleet(slow, "--lang", language, "--format", format_name, "--reference", "reference:h200-pcie5")
    assert code == 0
    assert ("遅くなっています" in out) == (language == "ja")
    assert ("慢于同类" in out) == (language == "zh")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--margin", "0"], "not a margin"),
        (["--margin", "nan"], "not a share: 'nan'; expected one such as 5%"),
        (["--fail-if", "slow"], "no such gate"),
        (["--format", "htlm"], "did you mean 'html'"),
        (["--reference", "reference:h100"], "no such reference"),
        (["--reference", "nowhere.json"], "cannot be read"),
        (["-o", "/nowhere/page.html"], "cannot be written"),
        (["-o", "/nowhere/all.csv"], "cannot be written"),
        (["nowhere"], "no such file or folder"),
    ],
)
def test_usage_errors(fleet: FleetCommand, right: Path, words: list[str], says: str) -> None:
    code, _, err = fleet(right, *words)
    assert code == 2
    assert says in err


def test_files_are_not_overwritten(fleet: FleetCommand, right: Path) -> None:
    path = right / "n0.json"
    before = path.read_bytes()
    code, _, err = fleet(path, "-o", path)
    assert code == 2
    assert "would be overwritten" in err
    assert path.read_bytes() == before


def test_an_output_in_the_folder_does_not_hide_itself_in_it(fleet: FleetCommand, right: Path) -> None:
    assert fleet(right, "-o", right / "report.json")[0] == 0
    code, out, _ = fleet(right)
    assert code == 0
    assert "Skipped: 1 unreadable." in out
