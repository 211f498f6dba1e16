"""Which links of other devices a table names: against rates that are known, with noise, and with the host backend."""

import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from isthmus import _native
from isthmus.errors import CallFailed, DeviceAbsent, OutOfMemory
from isthmus.experiment.calibration import links
from isthmus.experiment.calibration.buffers import DRIVER, Choice
from isthmus.experiment.calibration.calibrate import table_text
from isthmus.experiment.calibration.links import Taken, choose_link, choose_links, reaching
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.record import KIB, MIB, Device

SIZES = (9 * MIB, 16 * MIB, 64 * MIB, 256 * MIB)
ADDRESS = "0000:b0:00.0"
TABLE = table_text("test", [Choice(way, 0, DRIVER, 1e-6, 1e-6) for way in ("h2d", "d2h")], [], [])


def taken(factors: Mapping[int, float], noise: float = 0.0, share: float = 0.5, seed: int = 0) -> Taken:
    """Of copies that are so many times as fast by both links as by the own one at 50 GB/s."""
    drawn = random.Random(seed)

    def seconds(size: int, factor: float) -> list[float]:
        return [size / 50e9 / factor * drawn.lognormvariate(0, noise) for _ in range(15)]

    return Taken({size: (seconds(size, 1), seconds(size, of)) for size, of in factors.items()}, int(256 * MIB * share))


def every(factor: float) -> dict[int, float]:
    return dict.fromkeys(SIZES, factor)


def test_a_way_is_used_from_where_it_gains_on_and_its_rate_is_that_beside_the_own_link() -> None:
    way = choose_link("h2d", ADDRESS, taken({9 * MIB: 1.0, 16 * MIB: 1.3, 64 * MIB: 1.7, 256 * MIB: 2.0}))
    assert way
    assert (way.gains, way.from_bytes) == (True, 16 * MIB)
    assert way.bytes / way.seconds == pytest.approx(50e9)
    (rule,) = _native.parse_transfer_table(TABLE.replace("\nend", f"\n{way.line}\nend")).ways
    assert (rule["direction"], rule["device"], rule["gains"], rule["from_bytes"]) == ("h2d", ADDRESS, True, 16 * MIB)
    assert rule["bytes"] / rule["seconds"] == pytest.approx(50e9, rel=1e-3)


@pytest.mark.parametrize(
    ("factors", "start"),
    [
        (every(1.9), 9 * MIB),
        ({**every(1.9), 64 * MIB: 1.04}, 256 * MIB),
        ({**every(1.0), 256 * MIB: 1.06}, 256 * MIB),
        ({**every(1.9), 256 * MIB: 1.04}, None),
        (every(0.7), None),
    ],
)
def test_no_size_from_there_on_gains_less_than_a_twentieth(factors: dict[int, float], start: int | None) -> None:
    way = choose_link("d2h", ADDRESS, taken(factors))
    assert way
    assert (way.from_bytes if way.gains else None) == start


@pytest.mark.parametrize("seed", range(20))
def test_what_noise_leaves_open_is_as_without_a_table(seed: int) -> None:
    way = choose_link("h2d", ADDRESS, taken(every(1.0), noise=0.3, seed=seed))
    assert way is None or not way.gains or way.ratios[256 * MIB].low > 1
    unsure = Taken({256 * MIB: ([1.0] * 8 + [9.0] * 7, [0.9] * 8 + [9.9] * 7)}, MIB)
    assert choose_link("h2d", ADDRESS, unsure) is None


def test_a_way_that_took_nothing_is_not_judged() -> None:
    assert choose_link("h2d", ADDRESS, taken(every(1.0), share=0)) is None


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[dict[str, tuple[str, str]]]]:
    """Puts known times in the place of turns: first of the own link and both, then without the rule and with it."""

    def put(factor: float, ruled: float) -> list[dict[str, tuple[str, str]]]:
        asked: list[dict[str, tuple[str, str]]] = []

        class Known:
            def __init__(self, *_: object) -> None: ...

            def taken(self, _way: str, _spec: str, by: dict[str, tuple[str, str]], least: int = 0) -> Taken:
                asked.append(by)
                return taken(every(ruled if "ruled" in by else factor))

        monkeypatch.setattr(links, "_Turns", Known)
        return asked

    return put


def chosen() -> list[bool]:
    return [way.gains for way in choose_links(open_device("host"), ("cuda:1", ADDRESS), TABLE, True, 0)]


def test_a_rule_is_checked_against_none_and_left_out_where_it_loses(turns: Callable[..., Any]) -> None:
    asked = turns(1.9, 1.0)
    assert chosen() == [True, True]
    first, second = asked[:2]
    assert {name: paths for name, (paths, _) in first.items()} == {"own": "own", "both": "cuda:1"}
    assert second["both"][1] == TABLE
    assert [rule["gains"] for rule in _native.parse_transfer_table(second["ruled"][1]).ways] == [True]
    turns(1.9, 0.9)
    assert chosen() == []
    asked = turns(1.0, 0.5)
    assert chosen() == [False, False]
    assert len(asked) == 2, "what is not used needs no check"


def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "_SIZES", (64 * KIB, 128 * KIB))
    monkeypatch.setattr(links, "_QUICK_ROUNDS", 2)


def test_sessions_take_turns_and_what_takes_no_part_has_no_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    found = links._Turns(open_device("host").native, 3, 0).taken(
        "d2h", "cuda:1", {"a": ("own", TABLE), "b": ("", TABLE)}
    )
    assert {size: [len(each) for each in both] for size, both in found.seconds.items()} == {
        64 * KIB: [3, 3],
        128 * KIB: [3, 3],
    }
    assert found.bytes == 0


def test_wrong_data_ends_it_and_lack_of_memory_leaves_it_out(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    with pytest.raises(CallFailed, match="wrong data h2d by own"):
        choose_links(open_device("host:fault=copy:partial"), ("own", ADDRESS), TABLE, True, 0)

    def lacking(*_: object) -> object:
        raise OutOfMemory("no room")

    monkeypatch.setattr(links, "_Turns", lacking)
    assert chosen() == []


def test_only_other_devices_that_reach_this_one_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    native = open_device("host").native
    names = [Device(backend="cuda", index=at, name="GPU", pci_address=f"0000:0{at}:00.0") for at in range(3)]
    names.append(Device(backend="cuda", index=3, name="without an address"))

    def opened(_device: OpenDevice, other: Device) -> _native.Device:
        if other.index == 2:
            raise DeviceAbsent("it has fallen off the bus")
        return native

    monkeypatch.setattr(links, "neighbours", lambda *_: names)
    monkeypatch.setattr(links, "open_neighbour", opened)
    assert reaching(OpenDevice(native, names[0])) == [("cuda:1", "0000:01:00.0")]


def test_a_lone_device_has_nobody_to_ask() -> None:
    assert reaching(open_device("host")) == []
