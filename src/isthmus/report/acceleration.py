"""The document of a program that ran under `isthmus accelerate`: the time saved, what moved how, and what did not."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from isthmus.document.document import Answer, Block, Data, Document, Prose, Table
from isthmus.document.grid import Grid, text_grid
from isthmus.language import say
from isthmus.ledger import Counts, Moved
from isthmus.record import decimal_bytes, format_bytes, format_seconds, three_figures

# A program may leave as many files as it likes.
_MOST_REFUSED = 5
# So many blocks of page-locked memory are not powers of two by accident.
_LEAST_ROUNDED = 3
_TORCH_SETTING = "PYTORCH_ALLOC_CONF=pinned_max_round_threshold_mb:64"


def acceleration_document(counts: Counts, program: str) -> Document:
    """What Isthmus did for a program, which is named by its first word."""
    return Document(
        "acceleration",
        say("acceleration.title", program=program),
        tuple(_blocks(counts)),
        data=Data(lambda: _data(counts, program)),
    )


def _blocks(counts: Counts) -> Iterator[Block]:
    copies = [row for row in counts.moved if row.is_copy]
    locked = [row for row in counts.moved if not row.is_copy]
    yield Answer((_verdict(counts, copies, locked),), failed=counts.wrong > 0)
    if locked and copies:
        yield Prose(_locked(counts, locked))
    # Whether all blocks of several MiB are powers of two, as torch rounds them.
    blocks, size, _ = _sum(locked)
    if blocks >= _LEAST_ROUNDED and size == sum(row.copies << row.power for row in locked):
        yield Prose(say("acceleration.rounded_up", setting=_TORCH_SETTING), "small")
    if counts.queued[0] and copies:
        yield Prose(_queued(counts))
    if counts.checked:
        key = "acceleration.wrong" if counts.wrong else "acceleration.checked"
        yield Prose(say(key, count=counts.checked, wrong=counts.wrong), tone="warning" if counts.wrong else "plain")
    if counts.moved:
        yield Table((_table(counts),))
    if any(copies for copies, _ in counts.left.values()):
        headings = [say(f"acceleration.column_{name}") for name in ("copies", "bytes")]
        rows = (
            (say(f"acceleration.left_{reason}"), (str(copies), decimal_bytes(size)))
            for reason, (copies, size) in counts.left.items()
            if copies
        )
        yield Table((text_grid("", say("acceleration.left"), headings, rows),))
    for reason, processes in counts.plain.items():
        yield Prose(say("acceleration.plain", count=processes, why=say(f"acceleration.left_{reason}")))
    if counts.uncounted:
        yield Prose(say("acceleration.uncounted", count=counts.uncounted))
    yield from (Prose(say("acceleration.failure", why=why), "small") for why in counts.failures)
    yield from (Prose(say("acceleration.refused", why=why), "small") for why in counts.refused[:_MOST_REFUSED])
    if len(counts.refused) > _MOST_REFUSED:
        yield Prose(say("acceleration.refused_more", count=len(counts.refused) - _MOST_REFUSED), "small")


def _verdict(counts: Counts, rows: list[Moved], locked: list[Moved]) -> str:
    copies, size, seconds = _sum(rows)
    if not copies and counts.queued[0]:
        return _queued(counts)
    if not copies and locked:
        return _locked(counts, locked)
    if not copies:
        return say("acceleration.none" if counts.processes or counts.uncounted else "acceleration.not_loaded")
    moved = {"count": copies, "bytes": decimal_bytes(size), "time": format_seconds(seconds)}
    driver = _driver(counts, rows)
    if driver is None:
        return say("acceleration.unsampled", **moved)
    key = "acceleration.saved" if driver > seconds else "acceleration.lost"
    return say(key, **moved, driver=format_seconds(driver), gain=format_seconds(abs(driver - seconds)))


def _locked(counts: Counts, rows: list[Moved]) -> str:
    blocks, size, seconds = _sum(rows)
    made = {"count": blocks, "bytes": decimal_bytes(size), "time": format_seconds(seconds)}
    driver = _driver(counts, rows)
    if driver is None or driver <= seconds:
        return say("acceleration.locked", **made)
    return say("acceleration.locked_saved", **made, gain=format_seconds(driver - seconds))


def _queued(counts: Counts) -> str:
    copies, size = counts.queued
    return say("acceleration.queued", count=copies, bytes=decimal_bytes(size))


def _sum(rows: list[Moved]) -> tuple[int, int, float]:
    return sum(row.copies for row in rows), sum(row.bytes for row in rows), sum(row.seconds for row in rows)


def _driver(counts: Counts, rows: list[Moved]) -> float | None:
    """What the driver would have taken for all of them, as long where that is not known; None where nothing is."""
    times = [(counts.driver_seconds(row), row.seconds) for row in rows]
    if all(driver is None for driver, _ in times):
        return None
    return sum(seconds if driver is None else driver for driver, seconds in times)


def _table(counts: Counts) -> Grid:
    headings = [say(f"acceleration.column_{name}") for name in ("copies", "bytes", "ours", "driver", "saved")]
    return text_grid(
        "", say("acceleration.column_size"), headings, ((_size(row), _cells(counts, row)) for row in counts.moved)
    )


def _size(row: Moved) -> str:
    sizes = say("acceleration.sizes", least=format_bytes(1 << row.power), most=format_bytes(2 << row.power))
    return f"{say(f'acceleration.way_{row.way}')} {sizes}"


def _cells(counts: Counts, row: Moved) -> list[str]:
    driver = counts.driver_seconds(row)
    rates = [row.bytes / row.seconds if row.seconds else None, row.bytes / driver if driver else None]
    shown = [three_figures(rate / 1e9) if rate else "" for rate in rates]
    saved = (
        "" if driver is None else f"{'-' if driver < row.seconds else ''}{format_seconds(abs(driver - row.seconds))}"
    )
    return [str(row.copies), decimal_bytes(row.bytes), *shown, saved]


def _data(counts: Counts, program: str) -> Mapping[str, Any]:
    """Bytes, seconds; `driver_seconds` is what the driver would have taken, null where no copy was sampled."""
    return {
        "format": "isthmus.acceleration",
        "program": program,
        "processes": counts.processes,
        "plain": counts.plain,
        "uncounted": counts.uncounted,
        "moved": [
            {
                "way": row.way,
                "least_bytes": 1 << row.power,
                **{name: value for name, value in asdict(row).items() if name not in ("way", "power")},
                "driver_seconds": counts.driver_seconds(row),
            }
            for row in counts.moved
        ],
        "queued": dict(zip(("copies", "bytes"), counts.queued, strict=True)),
        "left": {reason: {"copies": copies, "bytes": size} for reason, (copies, size) in counts.left.items()},
        "checked": counts.checked,
        "wrong": counts.wrong,
        "failures": counts.failures,
        "refused": counts.refused,
    }
