"""Every case of two runs is in exactly one place."""

from typing import Any

import msgspec
import pytest

from isthmus.compare.pairing import paired
from isthmus.record import PARAMETERS, Case, Series
from tests.synthetic import runs as synthetic


def case(**changes: Any) -> Case:
    fields: dict[str, Any] = {
        "experiment": "bandwidth",
        "method": "copy",
        "host_memory": "pinned",
        "bytes": 4096,
        "direction": "h2d",
        "series": [Series(metric="host_seconds", samples=[1e-6, 2e-6, 3e-6])],
        "verified": "yes",
    }
    return Case(**(fields | changes))


def place(base: Case, new: Case) -> str:
    """The only place of the pairing that is not empty."""
    found = paired(synthetic.run([base]), synthetic.run([new]))
    (name,) = [name for name in found.__dataclass_fields__ if getattr(found, name)]
    return name


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        ({}, {}, "timed"),
        ({"verified": "n/a"}, {"verified": "yes"}, "timed"),
        ({}, {"verified": "no"}, "broken"),
        ({"skipped": True, "series": []}, {"verified": "no"}, "broken"),
        ({"verified": "no"}, {}, "wrong"),
        ({"verified": "no"}, {"verified": "no"}, "wrong"),
        ({}, {"skipped": True, "series": []}, "now_skipped"),
        ({"skipped": True, "series": []}, {}, "now_measured"),
        ({"skipped": True, "series": []}, {"skipped": True, "series": []}, "untimed"),
        ({}, {"series": []}, "untimed"),
        ({}, {"series": [Series(metric="host_seconds", samples=[0.0, 0.0, 1e-9])]}, "untimed"),
        ({}, {"series": [Series(metric="enqueue_seconds", samples=[1e-6])]}, "untimed"),
    ],
)
def test_where_a_pair_goes(base: dict[str, Any], new: dict[str, Any], expected: str) -> None:
    assert place(case(**base), case(**new)) == expected


def test_every_parameter_tells_cases_apart() -> None:
    other: dict[str, Any] = {"direction": "d2h", "host_layout": "strided", "device_layout": "strided"}
    for name in PARAMETERS:
        changed = other.get(name, 3 if getattr(case(), name) is None or name == "bytes" else "other")
        found = paired(synthetic.run([case()]), synthetic.run([case(**{name: changed})]))
        assert (len(found.only_base), len(found.only_new), found.common) == (1, 1, 0), name


def test_what_was_found_out_does_not() -> None:
    assert place(case(), case(note="slow", moved_bytes=8192)) == "timed"


def test_every_field_of_a_case_is_a_parameter_or_a_result() -> None:
    assert set(Case.__struct_fields__) - set(PARAMETERS) == {
        "busy_cpus",
        "migrations", "faults", "carried", "spans", "series", "verified", "skipped", "note", "moved_bytes",
        "path",
    }  # fmt: skip


def test_the_device_clock_serves_where_the_host_s_is_absent() -> None:
    duplex = case(series=[Series(metric="device_seconds", samples=[1e-6])])
    (pair,) = paired(synthetic.run([duplex]), synthetic.run([duplex])).timed
    assert pair.metric == "device_seconds"


def test_cases_that_a_run_has_twice_are_matched_in_order() -> None:
    second = msgspec.structs.replace(case(), note="second")
    found = paired(synthetic.run([case(), second]), synthetic.run([case(), second, case(note="third")]))
    assert [pair.new.note for pair in found.timed] == ["", "second"]
    assert [each.note for each in found.only_new] == ["third"]
