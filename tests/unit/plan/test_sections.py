"""Sections are planned near the truth that drew a run, whatever their width, rows and pitch."""

import pytest

from isthmus.errors import UsageError
from isthmus.plan import answer
from isthmus.record import KIB, Run, SectionNeed
from tests.synthetic import runs as synthetic
from tests.synthetic import strided as synthetic_strided


@pytest.fixture(scope="module")
def h200() -> Run:
    return synthetic.run(synthetic_strided.h200_cases())


def column(rows: int, width: int, **fields: object) -> SectionNeed:
    """Rows that are together on the host and apart on the device."""
    needed: dict[str, object] = {"direction": "d2h", "source": "pinned", "device_pitch_bytes": 2 * width} | fields
    return SectionNeed(rows, width, width, **needed)  # type: ignore[arg-type]


@pytest.mark.parametrize(("rows", "width"), [(300, 20), (5000, 100), (200, 2000), (20_000, 8)])
def test_the_first_choice_is_the_fastest_and_takes_what_is_said(h200: Run, rows: int, width: int) -> None:
    truths = {name: time(width, rows) for name, time in synthetic_strided.H200.items()}
    first = answer(h200, column(rows, width)).methods[0]
    assert truths[first.name] <= 1.1 * min(truths.values())
    assert first.seconds.median == pytest.approx(truths[first.name], rel=0.2)


def test_copying_all_between_the_rows_is_no_substitute() -> None:
    truths = {"section": lambda width, rows: 1e-4, "whole": lambda width, rows: 1e-6}
    run = synthetic.run(synthetic_strided.grid(truths, host="strided"))
    plan = answer(run, SectionNeed(100, 8, 16, "d2h", "pinned", 16))
    assert [way.name for way in plan.methods] == ["section"]
    assert "overwrites" in plan.unknown["whole"]


def test_rows_side_by_side_are_a_buffer(h200: Run) -> None:
    with pytest.raises(UsageError, match="isthmus plan --bytes 800KiB --direction h2d --source pageable"):
        answer(h200, SectionNeed(100, 8 * KIB, 8 * KIB))


def test_rows_wider_than_their_pitch_cannot_be(h200: Run) -> None:
    with pytest.raises(UsageError, match="do not fit into a host pitch of 4"):
        answer(h200, SectionNeed(100, 8, 4))


def test_what_one_section_says_is_not_stretched() -> None:
    run = synthetic.run([synthetic_strided.case("section", 40e-6, 8, 1024, pitch=16)])
    plan = answer(run, column(30_720, 8))
    assert not plan.methods
    assert "section" in plan.unpriced
