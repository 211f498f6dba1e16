"""Counts of accelerated programs: those of whole files, whatever else lies in the folder."""

import io
import os
import random
import struct
from pathlib import Path

import pytest

from isthmus.ledger import REASONS, Counts, read_counts
from isthmus.report import formats_for, write
from isthmus.report.acceleration import acceleration_document


def ledger(
    *rows: tuple[float, ...], used: int | None = None, checked: int = 0, wrong: int = 0, plain: int = 0
) -> bytes:
    head = struct.pack("=8s5Q", b"ISTHACC3", 7, len(rows) if used is None else used, checked, wrong, plain)
    left = struct.pack("=2Q", 3, 300) + b"".join(
        struct.pack("=2Q", place, 100 * place) for place in range(len(REASONS))
    )
    made = b"".join(struct.pack("=Q2I2Qd2Qd", *row) for row in rows)
    whole = head + left + b"why".ljust(256, b"\0") + made.ljust(512 * 64, b"\0")
    return whole.ljust(-(-len(whole) // 4096) * 4096, b"\0")


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


NAN, INFINITY = float("nan"), float("inf")
MOST = (1 << 64) - 1
ROW = (5, 1, 20, 10, 10 << 20, 0.5, 2, 2 << 20, 0.4)
# Rows and words of the head that no process of ours leaves.
FORGED: dict[str, bytes] = {
    "direction": ledger((5, 9, *ROW[2:])),
    "power": ledger((5, 1, 64, *ROW[3:])),
    "power-of-32-bits": ledger((5, 1, 4_000_000_000, *ROW[3:])),
    **{
        f"{name}-{value}": ledger((*ROW[:place], value, *ROW[place + 1 :]))
        for place, name in ((5, "seconds"), (8, "sampled-seconds"))
        for value in (NAN, -NAN, INFINITY, -INFINITY, -0.5, 1e300, 1e-300)
    },
    **{
        f"{name}-{value}": ledger((*ROW[:place], value, *ROW[place + 1 :]))
        for place, name in ((3, "copies"), (4, "bytes"), (6, "samples"), (7, "sampled-bytes"))
        for value in (1 << 63, MOST)
    },
    "row-behind-a-good-one": ledger(ROW, (6, *ROW[1:5], NAN, *ROW[6:])),
    "rows": ledger(ROW, used=513),
    "rows-of-64-bits": ledger(ROW, used=MOST),
    "checked": ledger(checked=1 << 63),
    "wrong": ledger(checked=1, wrong=2),
    "reason": ledger(plain=len(REASONS) + 1),
    "cut": ledger(ROW)[:-1],
    "half": ledger(ROW)[:20_000],
    "longer": ledger(ROW) + b"x",
    "version": ledger(ROW).replace(b"ISTHACC3", b"ISTHACC2"),
    "text": b"something else",
    "gzip": b"\x1f\x8b\x08\x00 and no more",
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_ledger_is_refused_by_name_and_the_others_count(forged: str, tmp_path: Path) -> None:
    (tmp_path / "8.ledger").write_bytes(FORGED[forged])
    (tmp_path / "9.ledger").write_bytes(ledger(ROW))
    counts = read_counts(tmp_path)
    assert (counts.processes, [row.copies for row in counts.moved]) == (1, [10])
    (refused,) = counts.refused
    assert refused.startswith("8.ledger: ")
    for name in ("terminal", "json"):
        written = io.StringIO()
        write(acceleration_document(counts, "program"), name, written)
        assert "8.ledger" in written.getvalue()


def test_whatever_lies_in_the_folder_a_report_is_written(tmp_path: Path) -> None:
    (tmp_path / "folder.ledger").mkdir()
    (tmp_path / "gone.ledger").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe.ledger")
    chance = random.Random(1)
    whole = ledger(*(ROW,) * 20)
    for number in range(300):
        damaged = bytearray(whole)
        for _ in range(20):
            damaged[chance.randrange(8, 1800)] = chance.randrange(256)
        (tmp_path / f"damaged{number}.ledger").write_bytes(damaged)
    counts = read_counts(tmp_path)
    assert len([each for each in counts.refused if "damaged" not in each]) == 3
    assert len(counts.refused) >= 100
    for each in formats_for("acceleration"):
        written = io.StringIO()
        write(acceleration_document(counts, "program"), each.name, written)
        assert "nan" not in written.getvalue().lower()


def test_the_largest_numbers_that_are_taken_are_shown(tmp_path: Path) -> None:
    most = 1 << 60
    (tmp_path / "1.ledger").write_bytes(
        ledger((5, 1, 63, most, most, 1e10, most, 1, 1e10), (5, 0, 0, most, most, 1e-10, 0, 0, 0.0))
    )
    (tmp_path / "2.ledger").write_bytes(ledger((5, 1, 63, most, most, 1e-10, most, most, 1e-10)))
    counts = read_counts(tmp_path)
    assert (counts.processes, counts.refused) == (2, [])
    for each in formats_for("acceleration"):
        write(acceleration_document(counts, "program"), each.name, io.StringIO())


def test_why_processes_were_left_as_they_are_is_said(tmp_path: Path) -> None:
    for number, reason in enumerate(("switched_off", "switched_off", "no_memory", "differed"), 1):
        (tmp_path / f"{number}.ledger").write_bytes(ledger(plain=1 + REASONS.index(reason)))
    (tmp_path / "9.ledger").write_bytes(b"")
    counts = read_counts(tmp_path)
    assert (counts.plain, counts.uncounted) == ({"switched_off": 2, "no_memory": 1, "differed": 1}, 1)
    text = str(acceleration_document(counts, "program").blocks)
    assert "2 processes ran without Isthmus: switched off (ISTHMUS_ACCELERATE=off)" in text
    assert "1 process had no room for its counts" in text


def test_copies_that_nobody_waited_for_are_told_of_and_have_no_times() -> None:
    counts = Counts(1, [], dict.fromkeys(REASONS, (0, 0)), [], queued=(3, 3 << 30))
    document = acceleration_document(counts, "program")
    (answer,) = document.blocks
    assert "3 copies of pinned memory, 3.22 GB in all, were queued over several links" in str(answer)
    assert document.data is not None
    assert document.data.content()["queued"] == {"copies": 3, "bytes": 3 << 30}
