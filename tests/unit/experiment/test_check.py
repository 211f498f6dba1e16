"""Several devices that are checked: prepared at the same time, measured one after the other, and then all at once."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from isthmus.errors import CallFailed
from isthmus.experiment import check


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happened in which order, of devices that prepare and then are measured; cuda:2 cannot be opened."""
    events: list[str] = []

    def open_device(spec: str, bind: bool = False) -> SimpleNamespace:
        if spec == "cuda:2":
            raise CallFailed("open", "no")
        return SimpleNamespace(spec=spec)

    def measure_link(device: Any, *given: Any, sizes: int) -> str:
        *_, ready = given
        events.append(f"{device.spec} prepares")
        # Once for each batch.
        ready()
        ready()
        events.extend([f"{device.spec} begins", f"{device.spec} ends"])
        return str(device.spec)

    def at_once(devices: list[Any]) -> list[Any]:
        events.append(f"{len(devices)} at once")
        return []

    monkeypatch.setattr(check, "open_device", open_device)
    monkeypatch.setattr(check, "measure_link", measure_link)
    monkeypatch.setattr(check, "_at_once", at_once)
    monkeypatch.setattr(check, "_with_cases", lambda each, _cases: each[1])
    return events


def _measure(monkeypatch: pytest.MonkeyPatch, available: int) -> dict[str, object]:
    monkeypatch.setattr(check, "available_memory_bytes", lambda _host: available)
    return dict(check.measure_links([f"cuda:{index}" for index in range(4)], [], lambda _: None))


def test_all_prepare_before_one_is_measured_and_none_beside_another(
    measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _measure(monkeypatch, 1 << 40)
    assert [found[f"cuda:{index}"] for index in (0, 1, 3)] == ["cuda:0", "cuda:1", "cuda:3"]
    assert isinstance(found["cuda:2"], CallFailed)
    assert {event.split()[1] for event in measured[:3]} == {"prepares"}
    turns = [tuple(event.split()) for event in measured[3:-1]]
    assert [what for _, what in turns] == ["begins", "ends"] * 3
    assert all(turns[at][0] == turns[at + 1][0] for at in (0, 2, 4))
    assert measured[-1] == "3 at once"


def test_where_memory_is_scarce_each_prepares_when_the_one_before_has_ended(
    measured: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _measure(monkeypatch, 1 << 30)
    assert [event.split()[1] for event in measured[:-1]] == ["prepares", "begins", "ends"] * 3


def test_what_waits_is_interrupted() -> None:
    schedule = check._OneByOne(2)
    interrupted = threading.Event()

    def waits() -> None:
        with pytest.raises(KeyboardInterrupt), schedule.join() as ready:
            ready()
        interrupted.set()

    thread = threading.Thread(target=waits)
    with schedule.join():
        thread.start()
        schedule.stop()
        thread.join()
    assert interrupted.is_set()
