"""Counts of accelerated programs: those of whole files, whatever else lies in the folder."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest

from isthmus.ledger import REASONS, Counts, read_counts
from isthmus.report.acceleration import acceleration_document


def ledger(*rows: tuple[float, ...], used: int | None = None) -> bytes:
    head = struct.pack("=8s4Q", b"ISTHACC2", 7, len(rows) if used is None else used, 0, 0)
    left = struct.pack("=2Q", 3, 300) + b"".join(
        struct.pack("=2Q", place, 100 * place) for place in range(len(REASONS))
    )
    made = b"".join(struct.pack("=Q2I2Qd2Qd", *row) for row in rows)
    return head + left + b"why".ljust(256, b"\0") + made.ljust(512 * 64, b"\0")


def test_processes_add_up(tmp_path: Path) -> None:
    row = (5, 1, 20, 10, 10 << 20, 0.5, 2, 2 << 20, 0.4)
    (tmp_path / "1.ledger").write_bytes(ledger(row, (6, *row[1:])))
    (tmp_path / "2.ledger").write_bytes(ledger(row, (5, 0, 20, 1, 1 << 20, 0.1, 0, 0, 0.0)))
    counts = read_counts(tmp_path)
    assert counts.processes == 2
    sent, fetched = counts.moved
    assert (sent.way, sent.copies, sent.bytes, sent.samples) == ("h2d", 30, 30 << 20, 6)
    assert counts.driver_seconds(sent) == pytest.approx(30 * 0.4 / 2)
    assert (fetched.way, counts.driver_seconds(fetched)) == ("d2h", None)
    assert counts.left["small"] == (2 * REASONS.index("small"), 200 * REASONS.index("small"))
    assert counts.queued == (6, 600)
    assert counts.failures == ["why"]


def test_what_is_no_ledger_is_passed_over(tmp_path: Path) -> None:
    whole = ledger((5, 1, 20, 10, 10 << 20, 0.5, 2, 2 << 20, 0.4))
    (tmp_path / "cut.ledger").write_bytes(whole[:-1])
    (tmp_path / "empty.ledger").write_bytes(b"")
    (tmp_path / "other.ledger").write_bytes(b"something else".ljust(len(whole)))
    assert read_counts(tmp_path).processes == 0
    (tmp_path / "odd.ledger").write_bytes(ledger((5, 9, 20, 10, 1, 0.5, 0, 0, 0.0), used=1 << 40))
    assert read_counts(tmp_path).moved == []
    chance = random.Random(1)
    for number in range(100):
        damaged = bytearray(whole)
        for _ in range(20):
            damaged[chance.randrange(8, len(whole))] = chance.randrange(256)
        (tmp_path / f"damaged{number}.ledger").write_bytes(damaged)
    assert read_counts(tmp_path).processes >= 1


def test_copies_that_nobody_waited_for_are_told_of_and_have_no_times() -> None:
    counts = Counts(1, [], dict.fromkeys(REASONS, (0, 0)), [], queued=(3, 3 << 30))
    document = acceleration_document(counts, "program")
    (answer,) = document.blocks
    assert "3 copies of pinned memory, 3.22 GB in all, were queued over several links" in str(answer)
    assert document.data is not None
    assert document.data.content()["queued"] == {"copies": 3, "bytes": 3 << 30}
