"""What an explanation says of a copy's neighbours: from kept runs, which are read when that is asked for."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

import isthmus
from isthmus.machine.devices import choose_device
from isthmus.machine.host import read_host
from isthmus.record import MIB, Case, Device, Host, Metric, Run, Series, cached_run, keep_run
from isthmus.transfer import explanation
from tests.synthetic import runs as synthetic


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A cache of runs of its own, of which nothing was read."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    explanation._kept.cache_clear()
    yield
    explanation._kept.cache_clear()


def keep() -> None:
    """A run of the host as a device, in which whatever copies of pageable memory costs a kernel a quarter."""
    times: dict[Metric, float] = {"alone_seconds": 1.0, "beside_seconds": 1.25, "host_seconds": 1e-3}
    series = [Series(metric=metric, samples=[seconds] * 12) for metric, seconds in times.items()]
    cases = [
        Case(
            experiment="interference",
            method=method,
            host_memory="pageable",
            direction="h2d",
            bytes=MIB,
            neighbour="compute",
            series=series,
            threads=threads,
        )
        for method, threads in {"copy": None, "isthmus": 2}.items()
    ]
    run: Run = synthetic.run(cases)
    fingerprint = msgspec.structs.replace(run.fingerprint, host=read_host(), device=choose_device("host"))
    keep_run(msgspec.structs.replace(run, fingerprint=fingerprint))


def explained(to_device: bool = True) -> isthmus.Explanation:
    """A copy of 1 MiB of pageable memory."""
    with isthmus.Session("host") as session:
        there, here = session.empty(MIB, np.uint8), np.zeros(MIB, np.uint8)
        return session.explain(*((there, here) if to_device else (here, there)))


def test_neighbours_are_told_of_what_was_measured_of_them() -> None:
    keep()
    found = explained()
    assert (found.device, found.host_memory) == ("host", "pageable")
    assert found.neighbours == pytest.approx({"compute": 0.25})
    assert explained(to_device=False).neighbours == {}


def test_without_a_kept_run_nothing_is_told() -> None:
    assert explained().neighbours == {}
    assert explained().method


def test_runs_are_read_when_neighbours_are_asked_for_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    keep()
    read: list[str] = []

    def cached(host: Host, device: Device) -> Run | None:
        read.append(device.spec)
        return cached_run(host, device)

    monkeypatch.setattr("isthmus.transfer.explanation.cached_run", cached)
    found = [explained() for _ in range(3)]
    assert str(found[0])
    assert read == []
    assert [each.neighbours for each in found] == [found[0].neighbours] * 3
    assert read == ["host"]


def test_a_run_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    keep()
    for path in tmp_path.rglob("*.json.gz"):
        path.write_bytes(b"no run")
    assert explained().neighbours == {}
