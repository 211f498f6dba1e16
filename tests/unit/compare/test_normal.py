"""The table of what is normal: every figure with a source, and no healthy output below what it says."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import pytest

from isthmus import _native
from isthmus.compare.rates import Normal, Rate
from isthmus.compare.reference import known_references, read_reference
from isthmus.compare.spread import GroupKey
from isthmus.record import MIB, Device, Direction, Link

FOLDER = Path(__file__).parents[3] / "native/judge/kinds"
WAYS: tuple[Direction, ...] = ("h2d", "d2h")


class Output(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What somebody posted of such a card: GB/s of large pinned copies, lowest and highest; `both` are sums."""

    source: str
    by: Literal["copy", "kernel"] = "copy"
    h2d: tuple[float, float] | None = None
    d2h: tuple[float, float] | None = None
    both: tuple[float, float] | None = None


class Kind(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of the table, as `scripts/make_judge_table.py` describes it."""

    name: str
    match: list[str]
    vendor: Literal["NVIDIA", "AMD"]
    link: Link | None = None
    bus: Literal["pcie", "switched", "c2c", "shared"] = "pcie"
    full_host: bool = False
    measured: str = ""
    least: dict[str, dict[Direction, float]] = {}
    typical: float = 0.0
    note: str = ""
    outputs: list[Output]


KINDS = [
    msgspec.json.decode(path.read_bytes(), type=Kind)
    for path in sorted(FOLDER.glob("*.json"))
    if path.name != "theory.json"
]
EACH = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def kind_of(name: str) -> str:
    return _native.judge(Device(backend="cuda", index=0, name=name), [], [])["kind"]


def normals(
    device: Device, direction: Direction, method: str, links: Sequence[Link], alike: Sequence[float] = ()
) -> list[Normal]:
    """What a pinned rate of this device is held against."""
    rate = Rate("pinned", direction, 64 * MIB, 1.0, 0.0, None, (), method, "64 MiB")
    return [Normal(*each) for each in _native.judge(device, links, [(rate, alike)])["normals"][0]]


def device(kind: Kind, link: Link | None = None) -> Device:
    return Device(backend="cuda" if kind.vendor == "NVIDIA" else "rocm", index=0, name=kind.name, link=link)


def outputs() -> Iterator[tuple[Kind, str, Direction, float]]:
    for kind in KINDS:
        for output in kind.outputs:
            for direction in WAYS:
                if span := getattr(output, direction):
                    yield kind, output.by, direction, span[0] * 1e9


def test_there_are_kinds_enough() -> None:
    assert len(KINDS) >= 20
    assert {kind.vendor for kind in KINDS} == {"NVIDIA", "AMD"}


@EACH
def test_a_kind_finds_itself_and_says_where_its_figures_are_from(kind: Kind) -> None:
    assert kind_of(kind.name) == kind.name
    assert kind_of(kind.name.upper()) == kind.name
    assert all(output.source for output in kind.outputs)
    assert all(
        low <= high for output in kind.outputs for low, high in filter(None, (output.h2d, output.d2h, output.both))
    )
    assert (kind.link is None) == (kind.bus in ("c2c", "shared"))
    if kind.measured:
        reference = read_reference(kind.measured)
        assert reference.run.fingerprint.device.name == kind.name
        for memory, rates in kind.least.items():
            for direction, low in rates.items():
                expected = reference.rate_at(GroupKey("bandwidth", "copy", direction, memory, "large"), 64 * MIB)
                assert expected
                assert expected.low == pytest.approx(low * 1e9)
        keys = [GroupKey("bandwidth", "copy", direction, "pinned", "large") for direction in WAYS]
        typical = [expected.typical for key in keys if (expected := reference.rate_at(key, 64 * MIB))]
        assert max(typical) == pytest.approx(kind.typical * 1e9, rel=1e-3)


def test_every_reference_is_of_a_kind() -> None:
    assert {kind.measured for kind in KINDS if kind.measured} == set(known_references())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("NVIDIA L40S", "NVIDIA L40S"),
        ("NVIDIA L4", "NVIDIA L4"),
        ("NVIDIA GeForce RTX 3050 Laptop GPU", "NVIDIA GeForce RTX 3050 Laptop GPU"),
        ("NVIDIA GeForce RTX 3070 Ti", "NVIDIA GeForce RTX 3090"),
        ("NVIDIA GeForce RTX 3070 Laptop GPU", ""),
        ("NVIDIA GeForce RTX 2080 Ti", "NVIDIA GeForce RTX 2080 Ti"),
        ("AMD Radeon RX 7900 XTX", "AMD Radeon RX 7900 XTX"),
        ("NVIDIA RTX 6000 Ada Generation", "NVIDIA RTX 6000 Ada Generation"),
        ("NVIDIA H200 NVL", "NVIDIA H200 NVL"),
        ("NVIDIA A100-PCIE-40GB", "NVIDIA A100"),
        ("NVIDIA GB200", "NVIDIA GB200"),
        ("NVIDIA RTX 40", ""),
        ("NVIDIA RTX A1000", ""),
        ("", ""),
    ],
)
def test_names_that_are_alike_are_of_different_kinds(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def test_no_healthy_output_is_below_what_the_table_says() -> None:
    for kind, by, direction, rate in outputs():
        links = [kind.link] if kind.link and kind.bus == "pcie" else []
        for normal in normals(device(kind, kind.link), direction, by, links):
            assert rate >= normal.low, (kind.name, direction, normal)


def test_vendors_reach_different_shares_of_one_generation() -> None:
    link = Link(generation=4, width=16)
    lows = [
        normals(Device(backend=name, index=0, name="", vendor="AMD"), "h2d", "copy", [link])[0].low
        for name in ("cuda", "rocm")
    ]
    assert lows[0] < lows[1]


def test_one_output_is_no_evidence() -> None:
    a10, a100 = (Device(backend="cuda", index=0, name=name) for name in ("NVIDIA A10", "NVIDIA A100"))
    assert [each.basis for each in normals(a10, "h2d", "copy", [])] == ["card"]
    public, *rest = normals(a100, "h2d", "copy", [Link(generation=4, width=16)])
    assert (public.basis, public.of, [each.basis for each in rest]) == ("public", 3, ["theory"])
    assert all("://" in source for source in public.sources)


def test_devices_alike_are_evidence_from_three_on() -> None:
    unknown = Device(backend="cuda", index=0, name="")
    assert normals(unknown, "h2d", "copy", [], [1e9] * 2) == []
    assert normals(unknown, "h2d", "copy", [], [1e9] * 3) == [Normal("alike", 0.85e9, 3)]
