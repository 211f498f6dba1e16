"""The table of what is normal: every figure with a source, and no healthy output below what it says."""

from collections.abc import Iterator

import pytest

from isthmus.compare.normal import Kind, Normal, kind_of, kinds, normal_rates, usual_share
from isthmus.compare.reference import known_references, read_reference
from isthmus.record import Device, Direction, Link

EACH = pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
WAYS: tuple[Direction, ...] = ("h2d", "d2h")


def device(kind: Kind, link: Link | None = None) -> Device:
    return Device(backend="cuda" if kind.vendor == "NVIDIA" else "rocm", index=0, name=kind.name, link=link)


def outputs() -> Iterator[tuple[Kind, str, Direction, float]]:
    for kind in kinds():
        for output in kind.outputs:
            for direction in WAYS:
                if span := getattr(output, direction):
                    yield kind, output.by, direction, span[0] * 1e9


def test_there_are_kinds_enough() -> None:
    assert len(kinds()) >= 20
    assert {kind.vendor for kind in kinds()} == {"NVIDIA", "AMD"}


@EACH
def test_a_kind_finds_itself_and_says_where_its_figures_are_from(kind: Kind) -> None:
    assert kind_of(kind.name) == kind
    assert kind_of(kind.name.upper()) == kind
    assert all(output.source for output in kind.outputs)
    assert all(
        low <= high for output in kind.outputs for low, high in filter(None, (output.h2d, output.d2h, output.both))
    )
    assert (kind.link is None) == (kind.bus in ("c2c", "shared"))
    if kind.measured:
        assert read_reference(kind.measured).run.fingerprint.device.name == kind.name


def test_every_reference_is_of_a_kind() -> None:
    assert {kind.measured for kind in kinds() if kind.measured} == set(known_references())


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
    assert (found.name if (found := kind_of(name)) else "") == kind


def test_no_healthy_output_is_below_what_the_table_says() -> None:
    for kind, by, direction, rate in outputs():
        links = [kind.link] if kind.link and kind.bus == "pcie" else []
        for normal in normal_rates(device(kind, kind.link), direction, by, links):
            assert rate >= normal.low, (kind.name, direction, normal)


def test_vendors_reach_different_shares_of_one_generation() -> None:
    link = Link(generation=4, width=16)
    shares = [
        usual_share(Device(backend=name, index=0, name="", vendor="AMD"), link, "copy") for name in ("cuda", "rocm")
    ]
    assert shares[0] < shares[1]


def test_one_output_is_no_evidence() -> None:
    a10, a100 = kind_of("NVIDIA A10"), kind_of("NVIDIA A100")
    assert a10
    assert a100
    assert [each.basis for each in normal_rates(device(a10), "h2d", "copy", [])] == ["card"]
    public, *rest = normal_rates(device(a100), "h2d", "copy", [Link(generation=4, width=16)])
    assert (public.basis, public.of, [each.basis for each in rest]) == ("public", 3, ["theory"])
    assert all("://" in source for source in public.sources)


def test_devices_alike_are_evidence_from_three_on() -> None:
    unknown = Device(backend="cuda", index=0, name="")
    assert normal_rates(unknown, "h2d", "copy", [], [1e9] * 2) == []
    assert normal_rates(unknown, "h2d", "copy", [], [1e9] * 3) == [Normal("alike", 0.85e9, 3)]
