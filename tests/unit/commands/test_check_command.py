"""`isthmus check` of several devices."""

import os

import pytest

from isthmus.commands import check
from isthmus.errors import CallFailed


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
    monkeypatch.setattr("isthmus.machine.devices.open_device", open_device)
    failed: list[Exception] = []
    assert list(check._checks(["cuda:0", "cuda:1"], 5.0, None, None, failed)) == []  # type: ignore[arg-type]
    assert [*map(str, failed)] == ["cuda:0", "cuda:1"]
    assert seen == [{0, 1, 2, 3}, {0, 1, 2, 3}]
