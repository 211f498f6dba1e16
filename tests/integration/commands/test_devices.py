"""`isthmus devices` as a whole, on this machine; snapshots hold what it says of others."""

import json
import os
import subprocess
import sys

import msgspec
import pytest

from isthmus import __version__
from isthmus.commands import main
from isthmus.commands.devices import Inventory
from isthmus.record import Backend, Device

_HOST = Backend(name="host", devices=[Device(backend="host", index=0, name="host memory", shares_host_memory=True)])


def test_a_reader_that_has_gone_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isthmus.machine.devices.probe", lambda: [_HOST])
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as stdout:
        monkeypatch.setattr("sys.stdout", stdout)
        assert main(["devices"]) == 0


def test_json_is_one_document_that_holds_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--json"]) == 0
    document = capsys.readouterr().out
    assert list(json.loads(document)) == ["format", "backends", "host", "default_device"]
    inventory = msgspec.json.decode(document, type=Inventory)
    assert "host" in {backend.name for backend in inventory.backends}
    assert inventory.host.cpu.logical > 0


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
