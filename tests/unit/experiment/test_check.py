"""What a check makes of the program that measures CUDA devices: its answers, and whatever else it may do."""

import os
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from isthmus.errors import CallFailed, DeviceAbsent, UsageError
from isthmus.experiment import check, check_program
from isthmus.record import Case, Device, Run, RunWriter

DEVICE = {"backend": "cuda", "index": 1, "name": "Fake GPU", "conditions": {"mig": "off"}}
CASE = {
    **{"experiment": "bandwidth", "method": "copy", "host_memory": "pinned", "direction": "h2d", "bytes": 1 << 26},
    **{"series": [{"metric": "host_seconds", "samples": [0.0012] * 10}], "verified": "yes"},
}
WHOLE = {"device": DEVICE, "cases": [CASE], "bound_node": 1, "is_absent": False, "link": {"width": 16, "replays": 3}}
LOST = {"device": {**DEVICE, "index": 2}, "cases": [], "failure": "it is lost", "is_absent": False}
ABSENT = {"device": {**DEVICE, "name": ""}, "cases": [], "failure": "no libcuda.so.1", "is_absent": True}


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts a script in the program's place; gives the words that it was started with."""

    def program(script: str) -> Path:
        path, words = tmp_path / "isthmus-check", tmp_path / "words"
        path.write_text(f'#!/bin/sh\necho "$@" >{shlex.quote(str(words))}\n{script}\n')
        path.chmod(0o755)
        monkeypatch.setattr(check_program, "installed_file", lambda _: path)
        return words

    return program


def _measured(spec: str | None, rank: int | None = None, *, is_single: bool = False) -> dict[str, Any]:
    command = ["isthmus", "check"]
    return dict(check.measure_links(spec, rank, command, lambda _: None, is_single=is_single, quietly=True))


def _says(*answers: Any) -> str:
    return f"echo {shlex.quote(msgspec.json.encode(answers).decode())}"


@pytest.mark.parametrize(
    ("spec", "rank", "words"),
    [
        *((None, None, ""), ("cuda", None, ""), (None, 5, " --rank 5"), ("cuda", 5, " --rank 5")),
        *(("CUDA:1", None, " --device 1"), ("cuda:", None, " --device 0"), ("cuda:3", 5, " --device 3")),
    ],
)
def test_one_start_measures_all_devices(program: Any, spec: str | None, rank: int | None, words: str) -> None:
    started = program(_says(WHOLE, LOST))
    measured = _measured(spec, rank)
    assert started.read_text().split("--limit")[0] == "--run "
    assert started.read_text().rstrip().endswith(f"30{words}")
    run = measured["cuda:1"]
    assert isinstance(run, Run)
    assert run.fingerprint.device.conditions == {"mig": "off"}
    assert run.fingerprint.host.cpu.logical > 0
    assert [case.samples("host_seconds") for case in run.cases] == [[0.0012] * 10]
    assert run.end is not None
    assert run.end.link is not None
    assert run.end.placement is not None
    assert (run.end.status, run.end.link.replays, run.end.placement.bound_node) == ("complete", 3, 1)
    assert str(measured["cuda:2"]).startswith("it is lost; nvidia-smi")


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("kill -SEGV $$", "SIGSEGV"),
        ("exit 7", "exited with 7"),
        ("echo '[{'", "without a whole answer"),
        ("echo '[{\"device\": 1}]'", "without a whole answer"),
        ("echo '[]'", "named no device"),
        ("sleep 60", "did not end in"),
    ],
)
def test_a_program_that_fails_is_an_error_with_what_to_do(
    program: Any, monkeypatch: pytest.MonkeyPatch, script: str, says: str
) -> None:
    # One that sleeps is given up at once; others end before anything is looked at twice.
    monkeypatch.setattr(check_program, "_MOST_DEVICES", 0 if script.startswith("sleep") else 30)
    program(script)
    with pytest.raises(CallFailed, match=says) as error:
        _measured("cuda")
    assert "--style plain" in str(error.value) or "install it anew" in str(error.value)


def test_a_program_that_is_missing_or_does_not_start_is_one(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    program("").with_name("isthmus-check").write_bytes(b"\x7fELF of another processor")
    with pytest.raises(CallFailed, match="isthmus-check does not start: Exec format error; install it anew"):
        _measured("cuda:0")
    monkeypatch.undo()
    monkeypatch.setattr(check_program, "_PROGRAM", "bin/isthmus-other")
    with pytest.raises(CallFailed, match=r"no bin/isthmus-other in .*; install the package anew"):
        _measured("cuda:0")


def test_one_that_may_not_be_executed_is_started_from_memory(program: Any) -> None:
    """Wheels are unpacked by programs that lose the modes of files, too."""
    started = program(_says(WHOLE))
    started.with_name("isthmus-check").chmod(0o644)
    assert [*_measured("cuda:1")] == ["cuda:1"]
    assert started.read_text().startswith("--run")


def test_several_are_refused_before_they_are_measured(program: Any) -> None:
    started = program(_says(WHOLE, LOST))
    with pytest.raises(
        UsageError, match="-o keeps the run of one device, and there are 2; name one with --device cuda:1"
    ):
        _measured(None, is_single=True)
    assert "--single" in started.read_text()


def test_a_signal_of_the_terminal_that_ends_the_program_first_is_ctrl_c(program: Any) -> None:
    program("kill -INT $$")
    with pytest.raises(KeyboardInterrupt):
        _measured(None)


def test_without_a_driver_other_kinds_are_looked_at(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    program(_says(ABSENT))
    monkeypatch.setattr(check, "names_in_turn", lambda _: ["opencl:0"])
    monkeypatch.setattr(check, "open_device", lambda spec, bind: pytest.fail(spec))
    monkeypatch.setattr(check, "choose_device", lambda _: msgspec.convert(DEVICE, Device))
    with pytest.raises(pytest.fail.Exception, match="opencl:0"):
        _measured("opencl:0")
    shared = msgspec.convert({**DEVICE, "shares_host_memory": True}, Device)
    monkeypatch.setattr(check, "choose_device", lambda _: shared)
    with pytest.raises(DeviceAbsent, match="no accelerator found"):
        _measured(None)


def test_what_hangs_is_no_absent_driver(program: Any) -> None:
    """Another kind in its place would hide that the driver is broken."""
    program(_says({**ABSENT, "failure": "the driver did not answer within 20 s", "is_absent": False}))
    (failed,) = _measured(None).values()
    assert isinstance(failed, CallFailed)
    assert str(failed).startswith("the driver did not answer within 20 s; ")


def test_what_binds_to_one_device_does_not_bind_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else every device of the second socket would be measured from the first one."""
    allowed = {0, 1, 2, 3}
    seen = []

    def bind(_pid: int, cpus: set[int]) -> None:
        allowed.intersection_update(cpus)
        allowed.update(cpus)

    def open_device(spec: str, bind: bool = False) -> None:
        seen.append({*allowed})
        allowed.intersection_update({0, 1})
        raise CallFailed(spec)

    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {*allowed})
    monkeypatch.setattr(os, "sched_setaffinity", bind)
    monkeypatch.setattr(check, "open_device", open_device)
    monkeypatch.setattr(check, "names_in_turn", lambda _: ["opencl:0", "opencl:1"])
    described = {f"opencl:{at}": {**DEVICE, "backend": "opencl", "index": at} for at in range(2)}
    monkeypatch.setattr(check, "choose_device", lambda spec: msgspec.convert(described[spec], Device))
    assert [*map(str, _measured("opencl").values())] == ["opencl:0", "opencl:1"]
    assert seen == [{0, 1, 2, 3}, {0, 1, 2, 3}]


def test_several_of_another_kind_share_the_time_and_copy_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that cannot be opened ends no other."""
    budgets: list[Any] = []
    together: list[str] = []

    def open_device(spec: str, bind: bool = False) -> Any:
        if spec == "opencl:1":
            raise CallFailed(spec)
        return SimpleNamespace(description=choose_device(spec))

    def choose_device(spec: str) -> Device:
        return msgspec.convert({**DEVICE, "backend": "opencl", "index": int(spec[-1])}, Device)

    def measure(device: Any, options: Any, _: Any, path: Path, *_more: Any) -> Path:
        budgets.append((options.budget_seconds, options.sizes))
        answer = msgspec.convert({**WHOLE, "device": msgspec.to_builtins(device.description)}, check_program._Answer)
        run = check_program._run_of(answer, [], 1.0)
        assert isinstance(run, Run)
        RunWriter.write(path, run)
        return path

    def at_once(devices: list[Any]) -> list[Case]:
        together.extend(each.description.spec for each in devices)
        return [
            Case(experiment="peers", method="link", host_memory="pinned", bytes=1, target=each)
            for each in ("", *together)
        ]

    for name, function in (("open_device", open_device), ("measure", measure), ("_at_once", at_once)):
        monkeypatch.setattr(check, name, function)
    monkeypatch.setattr(check, "names_in_turn", lambda _: [f"opencl:{at}" for at in range(4)])
    monkeypatch.setattr(check, "choose_device", choose_device)
    measured = _measured("opencl")
    assert isinstance(measured.pop("opencl:1"), CallFailed)
    assert budgets == 3 * [(0.5, check.SIZES[:1])]
    assert together == ["opencl:0", "opencl:2", "opencl:3"]
    assert [[case.target for case in run.cases[1:]] for run in measured.values()] == [[each] for each in together]
