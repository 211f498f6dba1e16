"""What lies between two devices, in words, for everything that NVML and the driver can answer."""

from __future__ import annotations

from typing import Any, cast

import pytest

from isthmus import _native
from isthmus.machine import devices
from isthmus.machine.devices import path_between


class Card:
    """A device that gives these reasons."""

    def __init__(self, no_copies: str | None = None, no_reach: str | None = None) -> None:
        self._no_copies, self._no_reach = no_copies, no_reach

    def why_no_peer(self, _: Card) -> str | None:
        return self._no_copies

    def why_no_peer_reach(self, _: Card) -> str | None:
        return self._no_reach


@pytest.mark.parametrize(
    ("card", "reading", "path"),
    [
        (Card(), (True, 18, 50), "nvlink 18"),
        (Card(), (True, None, 50), "nvlink"),
        (Card(), (False, None, 10), "pcie PIX"),
        (Card(), (False, None, 20), "pcie PXB"),
        (Card(), (False, None, None), "pcie"),
        (Card(), (False, None, 77), "pcie"),
        # NVML is absent, or does not know the functions.
        (Card(), (None, None, None), "peer"),
        (Card(), (None, None, 40), "peer NODE"),
        (Card(no_reach="no access"), (False, None, 50), "host SYS"),
        # NVLink that the driver does not let anybody use is no way.
        (Card(no_reach="no access"), (True, 4, None), "host"),
        (Card(no_copies="no call"), (True, 4, 10), ""),
    ],
)
def test_a_path_is_what_is_known(
    monkeypatch: pytest.MonkeyPatch, card: Card, reading: tuple[Any, Any, Any], path: str
) -> None:
    found = dict(zip(("has_nvlink", "nvlinks", "ancestor"), reading, strict=True))
    monkeypatch.setattr(devices, "_native", type("Native", (), {"read_peer": staticmethod(lambda *_: found)}))
    device = cast(_native.Device, card)
    assert path_between(device, device) == path
