"""The names of copies tell which way they went, whoever wrote them."""

import pytest

from isthmus.trace.columns import DIRECTIONS, MEMORY_KINDS, UNKNOWN
from isthmus.trace.kineto.copies import direction_of_kind, ends_of


def words(index: int, names: tuple[str, ...]) -> str:
    return names[index] if index != UNKNOWN else "?"


@pytest.mark.parametrize(
    ("name", "direction", "source", "destination"),
    [
        ("Memcpy HtoD (Pinned -> Device)", "h2d", "pinned", "device"),
        ("Memcpy DtoH (Device -> Pageable)", "d2h", "device", "pageable"),
        ("Memcpy AtoH (Array -> Managed Static)", "d2h", "device", "managed"),
        ("Memcpy PtoP (Device -> Device)", "peer", "device", "device"),
        ("Memcpy M2D (MEMORY(Unknown) -> DEVICE)", "h2d", "?", "device"),
        ("Memcpy D2M (DEVICE -> MEMORY(Unknown))", "d2h", "device", "?"),
        ("Memcpy S2D (SHARED -> DEVICE)", "d2d", "managed", "device"),
        ("Memcpy HtoD (Host -> Device)", "h2d", "?", "device"),
        ("MemcpyH2D", "h2d", "?", "?"),
        ("CopyDeviceToHost", "d2h", "?", "?"),
        ("Memcpy Unknown (Unknown -> Unknown)", "?", "?", "?"),
        ("Memcpy QtoZ (x -> y)", "?", "?", "?"),
        ("memory", "?", "?", "?"),
        ("", "?", "?", "?"),
    ],
)
def test_a_name_tells_both_ends(name: str, direction: str, source: str, destination: str) -> None:
    ends = ends_of(name)
    found = (words(ends.direction, DIRECTIONS), *(words(kind, MEMORY_KINDS) for kind in ends[1:]))
    assert found == (direction, source, destination)


@pytest.mark.parametrize(("kind", "direction"), [("1", "h2d"), ("2", "d2h"), ("HtoD", "h2d"), ("4", "?"), ("", "?")])
def test_an_argument_tells_the_direction(kind: str, direction: str) -> None:
    assert words(direction_of_kind(kind), DIRECTIONS) == direction
