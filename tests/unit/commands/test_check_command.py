"""`isthmus check` of what other tools printed."""

import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from isthmus.commands import main
from isthmus.errors import CallFailed, IsthmusError
from isthmus.experiment import check as experiment
from isthmus.record import Run
from tests.synthetic import runs as synthetic
from tests.unit.outputs import printed

SLOW = printed.nvbandwidth("NVIDIA H200", printed.both_ways([14.2], [14.0]))
FINE = printed.nvbandwidth("NVIDIA H200", printed.both_ways([55.2], [55.0]))


@pytest.mark.parametrize(("text", "code"), [(SLOW, 1), (FINE, 0), ("nothing of the kind\n", 2)])
def test_outputs_of_standard_input_are_judged(
    text: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["check", "--from", "-", "--json"]) == code
    if code < 2:
        document = json.loads(capsys.readouterr().out)
        assert next(iter(document.items())) == ("format", "isthmus.outputs")
        assert [each["level"] for each in document["devices"]] == ["FAULT" if code else "OK"]


@pytest.mark.parametrize("device", ["0", "0,1", "cuda:0,cuda:1"])
def test_numbers_and_lists_are_no_devices(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--device", device]) == 2
    assert f"no device '{device}'; expected such as cuda:0 (one) or cuda (all)" in capsys.readouterr().err


def test_several_outputs_are_one_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A link read at rest is none that copies were slow for."""
    rates, query = tmp_path / "rates.txt", tmp_path / "query.txt"
    rates.write_text(SLOW)
    query.write_text(printed.nvidia_smi("NVIDIA H200", (5, 5), (4, 16)))
    assert main(["check", "--from", str(rates), "--from", str(query)]) == 1
    assert "The link runs at PCIe 5.0 x4 under load" in " ".join(capsys.readouterr().out.split())


def test_the_host_of_the_worst_of_several_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / "fine.txt", tmp_path / "slow.txt"]
    for path, text in zip(paths, (FINE, SLOW.replace("node-7", "node-8")), strict=True):
        path.write_text(text)
    assert main(["check", "--from", str(paths[0]), "--from", str(paths[1])]) == 1
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith("FAULT  node-8 · NVIDIA H200 · cuda:0")
    assert last.startswith("OK  1 more (node-7 cuda:0): 55.0 GB/s to 55.2 GB/s")


def test_a_lost_device_is_asked_for_no_copies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.txt"
    path.write_text(printed.off_bus("0000:c3:00"))
    assert main(["check", "--from", str(path)]) == 1
    said = capsys.readouterr().out
    assert said.startswith("FAULT  0000:c3:00.0 · link unknown\n")
    assert "nvbandwidth -t" not in said


def test_a_share_is_of_the_card_s_link_where_none_was_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rates, query = tmp_path / "rates.txt", tmp_path / "query.txt"
    rates.write_text(FINE)
    query.write_text(printed.nvidia_smi("NVIDIA H200", (5, 5), (16, 16), busy=90))
    assert main(["check", "--from", str(rates)]) == 0
    assert "88 % of the link that this card has;" in " ".join(capsys.readouterr().out.split())
    assert main(["check", "--from", str(rates), "--from", str(query)]) == 0
    assert "88 % of the link;" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("more", [["--device", "host"], ["--for", "1m"], ["-o", "x.json"], ["--run", "x.json"]])
def test_outputs_are_judged_alone(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--from", "x.txt", *more]) == 2
    assert "--from" in capsys.readouterr().err


def run_of(address: str) -> Run:
    truth = {("copy", direction, "pinned"): synthetic.Truth(8e-6, 55e9) for direction in ("h2d", "d2h")}
    device = synthetic.gpu(pci_address=address, uuid=f"GPU-{address}")
    return synthetic.run(synthetic.cases(truth, [64 << 20]), device=device)


HUNG = CallFailed("the driver did not answer")
LEFT = "cuda:1 was not checked: cuda:1 is not there any more"
OTHER = "cuda:0 was not checked: cuda:0 was a and is b now"


@pytest.mark.parametrize(
    ("rounds", "said", "code"),
    [
        ([{"cuda:0": "a", "cuda:1": "b"}, {"cuda:0": "a"}], LEFT, 1),
        ([{"cuda:0": "a", "cuda:1": "b"}, {"cuda:0": "b"}], OTHER, 1),
        ([{"cuda:0": "a"}, HUNG], "the driver did not answer", 1),
        ([{"cuda:0": HUNG}], "the driver did not answer", 1),
        ([{"cuda:0": "a"}, {"cuda:0": "a"}], "", 0),
    ],
    ids=["gone", "renumbered", "hangs", "hung", "fine"],
)
def test_watching_notices_what_becomes_of_devices(
    rounds: list[Any], said: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left = iter(rounds)

    def measure_links(*_: object, **__: object) -> Mapping[str, Run | IsthmusError]:
        latest = next(left, None)
        if latest is None:
            raise KeyboardInterrupt
        if isinstance(latest, IsthmusError):
            raise latest
        return {spec: each if isinstance(each, IsthmusError) else run_of(each) for spec, each in latest.items()}

    monkeypatch.setattr(experiment, "measure_links", measure_links)
    assert main(["check", "--for", "1h"]) == code
    assert said in capsys.readouterr().err
    assert next(left, None) is None, "it went on when nothing was left to measure"


def test_a_verdict_stays_where_its_run_cannot_be_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(experiment, "measure_links", lambda *_, **__: {"cuda:0": run_of("a")})
    assert main(["check", "-o", str(tmp_path / "missing" / "run.json")]) == 2
    assert "no such folder" in capsys.readouterr().err
    folder = tmp_path / "run.json"
    folder.mkdir()
    assert main(["check", "-o", str(folder), "--force"]) == 2
    assert capsys.readouterr().out.startswith("OK  ")
