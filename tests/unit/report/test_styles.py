"""What programs that watch nodes take: a first line of 80 bytes, and exit codes as each expects them."""

import re
from pathlib import Path
from typing import get_args

import pytest

from isthmus.commands import main
from isthmus.compare import Health
from isthmus.document.finding import Finding, Level
from isthmus.language import LANGUAGES, speaking
from isthmus.record import read_run
from isthmus.report.check import Checked
from isthmus.report.styles import STYLES, styled
from tests.snapshots.test_checks import CHECKS
from tests.unit.outputs import printed

RUN = Path(__file__).parents[3] / "results" / "h100.json.gz"
# By the level of the worst device; the last of a device that was not checked, next to one that is well.
CODES = {
    "plain": {"FAULT": 1, "ATTENTION": 0, "OK": 0, "note": 0, "none": 3, "failed": 3},
    "nagios": {"FAULT": 2, "ATTENTION": 1, "OK": 0, "note": 0, "none": 3, "failed": 3},
    "npd": {"FAULT": 1, "ATTENTION": 0, "OK": 0, "note": 0, "none": 2, "failed": 2},
    "nhc": {"FAULT": 1, "ATTENTION": 0, "OK": 0, "note": 0, "none": 1, "failed": 1},
    "prometheus": {"FAULT": 0, "ATTENTION": 0, "OK": 0, "note": 0, "none": 0, "failed": 0},
    "json": {"FAULT": 1, "ATTENTION": 0, "OK": 0, "note": 0, "none": 3, "failed": 3},
}
SAMPLE = re.compile(r'[a-z_]+\{(?:\w+="(?:[^"\\]|\\.)*",?)+\} [0-9.e+-]+')
PERFORMANCE = re.compile(r"'[^'=]+'=\d+B(?:;\d+:;\d+:)?")


def checked(level: Level) -> Checked:
    return read_run(RUN), Health(level, (Finding(level, "rate", "Copies are as they are; more."),), ()), ""


def made(name: str) -> Checked:
    run, health = CHECKS[name]()
    return run, health, ""


@pytest.mark.parametrize("style", STYLES)
def test_each_has_its_exit_codes(style: str) -> None:
    for level in get_args(Level):
        assert styled([checked(level)], [], style, "node-9", strict=False)[1] == CODES[style][level], level
    assert styled([checked("OK")], ["cuda:1: fell off"], style, "node-9", strict=False)[1] == CODES[style]["failed"]
    assert styled([], ["no device"], style, "node-9", strict=False)[1] == CODES[style]["failed"]
    assert styled([checked("FAULT")], ["no device"], style, "node-9", strict=False)[1] == CODES[style]["FAULT"]


def test_strict_takes_attention_for_a_fault() -> None:
    codes = {style: styled([checked("ATTENTION")], [], style, "node-9", strict=True)[1] for style in STYLES}
    assert codes == {"plain": 1, "nagios": 2, "npd": 1, "nhc": 1, "prometheus": 0, "json": 1}


@pytest.mark.parametrize("name", CHECKS)
def test_the_first_line_is_level_reason_device_and_host(name: str) -> None:
    run, _, _ = made(name)
    for language in LANGUAGES:
        with speaking(language):
            line, _ = styled([made(name)], [], "npd", "node-9", strict=False)
        assert len(line.encode()) <= 80
        assert "\n" not in line
        assert line.split()[0] in ("FAULT", "ATTENTION", "OK", "UNKNOWN", "note", "注記", "说明")
    line, _ = styled([made(name)], [], "npd", "node-9", strict=False)
    whole = f" {run.fingerprint.device.spec} {run.fingerprint.host.name}"
    assert line.endswith(whole) or len(line.encode()) == 80, line


def test_the_worst_comes_first_and_what_failed_before_what_is_well() -> None:
    text, _ = styled([made("healthy"), made("narrow")], ["cuda:2: gone; no more"], "plain", "node-9", strict=False)
    assert [line.split()[0] for line in text.splitlines()] == ["FAULT", "UNKNOWN", "OK"]
    text, _ = styled([made("healthy")], ["cuda:2: is gone; no more"], "plain", "node-9", strict=False)
    assert text.splitlines()[0].startswith("UNKNOWN cuda:2: is gone - ")


def test_nagios_has_rates_with_the_ranges_that_are_well() -> None:
    first, *_ = styled([made("healthy")], [], "nagios", "node-9", strict=False)[0].splitlines()
    line, _, data = first.partition(" | ")
    assert line.startswith("OK ")
    assert len(PERFORMANCE.findall(data)) == 5
    assert PERFORMANCE.sub("", data).split() == []


def test_prometheus_joins_by_the_labels_of_dcgm() -> None:
    text, _ = styled([made("healthy")], ["gone"], "prometheus", "node-9", strict=False)
    samples = [line for line in text.splitlines() if not line.startswith("# ")]
    assert all(SAMPLE.fullmatch(line) for line in samples), samples
    names = {line.partition("{")[0] for line in samples}
    declared = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert names <= declared
    [level] = [line for line in samples if line.startswith("isthmus_check_level")]
    assert all(f'{label}="' in level for label in ("gpu", "UUID", "device", "modelName", "Hostname"))
    assert 'isthmus_check_failures{Hostname="node-9"} 1' in samples
    assert len(re.findall(r"^# TYPE isthmus_check_level", text, re.MULTILINE)) == 1


def test_a_kept_run_and_an_unknown_style(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--run", str(RUN), "--style", "nagios"]) == 0
    assert capsys.readouterr().out.startswith("OK Pinned copies reach ")
    assert main(["check", "--run", "absent.json", "--style", "npd"]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("UNKNOWN absent.json")
    assert "absent.json" in err
    assert main(["check", "--run", str(RUN), "--style", "zabbix"]) == 2
    assert "no style 'zabbix'; there are plain, nagios" in capsys.readouterr().err


def test_what_outputs_leave_unjudged_is_no_ok(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bandwidths, log = tmp_path / "bandwidths.txt", tmp_path / "log.txt"
    bandwidths.write_text(printed.bandwidth_test("NVIDIA H100 80GB HBM3", 55.0, 55.0))
    assert main(["check", "--from", str(bandwidths), "--style", "nagios"]) == 0
    assert capsys.readouterr().out.startswith("OK ")
    log.write_text(printed.dmesg("0000:3a:00.0", {"Uncorrected (Fatal)": 2}))
    assert main(["check", "--from", str(bandwidths), "--from", str(log), "--style", "nagios"]) == 3
    out, err = capsys.readouterr()
    assert out.startswith("UNKNOWN errors were logged for 0000:3a:00.0")
    assert "give `sudo lspci -vv`, too" in err


def test_outputs_are_of_the_host_that_they_name_and_never_of_the_reader_s(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "reader")
    slow, fine, log = (tmp_path / name for name in ("slow.txt", "fine.txt", "log.txt"))
    slow.write_text(printed.nvbandwidth("NVIDIA H200", printed.both_ways([27.1], [27.2]), host="node02"))
    fine.write_text(printed.nvbandwidth("NVIDIA H200", printed.both_ways([55.5], [55.3]), host="node01"))
    log.write_text(printed.off_bus("0000:c3:00"))
    said = {}
    for style in STYLES:
        for name, paths in (("both", [fine, slow]), ("log", [log]), ("absent", [tmp_path / "absent.txt"])):
            main(["check", *(word for path in paths for word in ("--from", str(path))), "--style", style])
            said[name, style] = capsys.readouterr().out
    assert "reader" not in "".join(said.values())
    worst, best = said["both", "nagios"].splitlines()
    assert worst.partition(" | ")[0].endswith(" cuda:0 node02")
    assert worst.startswith("FAULT ")
    assert best.endswith(" cuda:0 node01")
    # Names of rates are unique among hosts.
    assert len(set(re.findall(r"'([^']+)'=", worst))) == 4
    assert {line for line in said["both", "prometheus"].splitlines() if "failures{" in line} == {
        f'isthmus_check_failures{{Hostname="{host}"}} 0' for host in ("node01", "node02")
    }
    assert said["log", "npd"] == "FAULT The device fell off the bus 0000:c3:00.0 -\n"
    assert '{gpu="",UUID="",device="0000:c3:00.0",modelName="",Hostname="-"} 2' in said["log", "prometheus"]
    assert 'isthmus_check_failures{Hostname="-"} 1' in said["absent", "prometheus"]
