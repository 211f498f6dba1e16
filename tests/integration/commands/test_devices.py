"""`isthmus devices` as a whole: made-up devices, the real host, text at 80 columns and JSON."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable

import msgspec
import pytest
import typer
from typer.testing import CliRunner, Result

from isthmus import __version__
from isthmus.commands import main
from isthmus.commands.devices import Inventory, devices
from isthmus.record import Backend, Device, Link

_HOST = Backend(name="host", devices=[Device(backend="host", index=0, name="host memory", shares_host_memory=True)])
_GPU = Device(
    backend="cuda",
    index=0,
    name="NVIDIA H200",
    driver_version="580.159.03",
    api_version="13.0",
    pci_address="0000:3b:00.0",
    memory_bytes=150754820096,
    link=Link(generation=1, width=16, max_generation=5, max_width=16, source="sysfs"),
    conditions={"temperature": "34 C"},
)
_NO_CUDA = Backend(
    name="cuda",
    looked_for=["libcuda.so.1"],
    absent_because="libcuda.so.1: cannot open shared object file",
    install="NVIDIA's driver, R525 or newer",
)
Run = Callable[..., Result]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[Backend]], None]:
    """Makes the probe find these backends, whatever is on this machine."""

    def find(backends: list[Backend]) -> None:
        monkeypatch.setattr("isthmus.machine.devices.probe", lambda: backends)

    return find


@pytest.fixture
def run(found: Callable[[list[Backend]], None]) -> Run:
    """Runs the command on made-up backends, as a pipe of 80 columns."""
    app = typer.Typer()
    app.command()(devices)

    def invoke(backends: list[Backend], *arguments: str) -> Result:
        found(backends)
        return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "80", "FORCE_COLOR": None})

    return invoke


def test_a_machine_without_a_gpu_reports_and_succeeds(run: Run) -> None:
    result = run([_NO_CUDA, _HOST])
    assert result.exit_code == 0
    assert "takes host by default" in result.stdout
    assert "cuda  not available" in result.stdout
    assert "looked for    libcuda.so.1" in result.stdout
    assert "to get it     NVIDIA's driver, R525 or newer" in result.stdout


def test_json_is_one_document_that_holds_everything(run: Run) -> None:
    backends = [_NO_CUDA, Backend(name="opencl", devices=[msgspec.structs.replace(_GPU, backend="opencl")]), _HOST]
    result = run(backends, "--json")
    assert result.exit_code == 0
    assert list(json.loads(result.stdout)) == ["format", "backends", "host", "default_device"]
    inventory = msgspec.json.decode(result.stdout, type=Inventory)
    assert inventory.backends == backends
    assert inventory.default_device == "opencl:0"
    assert inventory.host.cpu.logical > 0


def test_a_reader_that_has_gone_is_no_failure(
    found: Callable[[list[Backend]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    found([_HOST])
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stdout:
        monkeypatch.setattr("sys.stdout", stdout)
        assert main(["devices"]) == 0


@pytest.mark.skipif(importlib.util.find_spec("isthmus.machine.devices") is None, reason="needs isthmus.machine.devices")
def test_this_machine_has_its_host_backend(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--json"]) == 0
    names = {backend.name for backend in msgspec.json.decode(capsys.readouterr().out, type=Inventory).backends}
    assert "host" in names


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == __version__


def test_threads_may_list_devices_at_the_same_time() -> None:
    """Drivers begin to work when they are asked first, and not each of them survives two threads that do."""
    code = """
import threading
from isthmus.machine.devices import probe

together = threading.Barrier(4)

def list_devices():
    together.wait()
    probe()

threads = [threading.Thread(target=list_devices) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
