"""The document of `isthmus calibrate`: which method a table has for which copy, and what that gains."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from isthmus.analysis.phrases import spanned
from isthmus.document.document import Answer, Block, Code, Data, Document, Prose, Table
from isthmus.document.grid import Cell, Grid, text_grid
from isthmus.grouping import grouped
from isthmus.language import say
from isthmus.record import Device, format_bytes, format_rate, format_seconds

Rows = Iterable[tuple[str, Iterable[str | Cell]]]


def calibration_document(device: Device, table: Mapping[str, Any]) -> Document:
    """What `table` has: its rules and, where it was measured now, `gains`; JSON has it as it is."""
    title = say("calibration.title", spec=device.spec, name=device.name)
    return Document(
        "calibration", title, tuple(_blocks(table)), data=Data(lambda: {"format": "isthmus.calibration", **table})
    )


def _blocks(table: Mapping[str, Any]) -> Iterator[Block]:
    yield Prose(table["origin"])
    yield Table((_buffers(table), _pieces(table)))
    if table["kernels"]:
        blocks = ", ".join(f"{rule['direction']} {rule['blocks']}" for rule in table["kernels"])
        yield Prose(say("calibration.blocks", blocks=blocks))
    if table["ways"]:
        # Which other devices' links large copies take too, by tables of older versions.
        rows = []
        for rule in table["ways"]:
            size = format_bytes(rule["from_bytes"])
            used = say("calibration.used_from", size=size) if rule["gains"] else say("calibration.used_never")
            rate = format_rate(rule["bytes"] / rule["seconds"])
            rows.append((rule["direction"], (rule["device"], rate, used)))
        yield Table((_grid("calibration.links", ("direction", "device", "link_rate", "used"), rows, words=1),))
    if "gains" in table:
        yield Table((_gains(table["gains"]),))
        yield Answer((_verdict(table),))
    if table["path"] is not None and not table["built_in"]:
        yield Code(say("calibration.table"), table["path"])


def _grid(title: str, names: Sequence[str], rows: Rows, *, words: int = 0) -> Grid:
    corner, *headings = (say(f"calibration.column_{name}") for name in names)
    return text_grid(say(title), corner, headings, rows, words=words)


def _buffers(table: Mapping[str, Any]) -> Grid:
    rows = []
    for rule in table["buffers"]:
        size, seconds, driver = rule["from_bytes"], rule["seconds"], rule.get("driver_seconds")
        staged = rule["method"] == "staged"
        method = say("calibration.method_driver")
        if staged:
            chunk = format_bytes(rule["chunk_bytes"])
            method = say("calibration.method_staged", threads=rule["threads"], chunk=chunk, stores=rule["stores"])
        rate = format_rate(size / seconds) if size else ""
        other = format_seconds(driver) if driver is not None and staged else ""
        rows.append((rule["direction"], (format_bytes(size), format_seconds(seconds), rate, other, method)))
    names = ("direction", "from", "takes", "rate", "driver", "method")
    return _grid("calibration.buffers", names, rows, words=1)


def _pieces(table: Mapping[str, Any]) -> Grid:
    """For each direction, memory and layout how many of the measured shapes each method moves fastest."""
    counts: dict[tuple[str, ...], Counter[str]] = {}
    for rule in table["pieces"]:
        sides = [side for side in ("host", "device") if rule[f"apart_on_{side}"]]
        shape = (
            rule["direction"],
            say(f"memory.label_{'pageable' if rule['pageable'] else 'pinned'}"),
            say(f"calibration.apart_{'both' if len(sides) > 1 else sides[0]}"),
            say(f"calibration.layout_{'scattered' if rule['scattered'] else 'regular'}"),
        )
        counts.setdefault(shape, Counter())[rule["method"]] += 1
    rows = (
        (direction, (*shape, ", ".join(f"{method} {count}" for method, count in methods.most_common())))
        for (direction, *shape), methods in counts.items()
    )
    return _grid("calibration.pieces", ("direction", "memory", "apart", "layout", "methods"), rows, words=4)


def _gains(gains: Sequence[Mapping[str, Any]]) -> Grid:
    """The least and the most by which copies of one direction and kind of memory gain."""
    parts = grouped(gains, lambda gain: (gain["direction"], gain["situation"]))
    rows = [
        (
            direction,
            (
                say(f"calibration.situation_{situation}"),
                spanned(*(format_bytes(gain["bytes"]) for gain in (each[0], each[-1]))),
                *(_span([gain[name]["median"] for gain in each]) for name in ("built_in", "driver")),
            ),
        )
        for (direction, situation), each in parts.items()
    ]
    return _grid("calibration.gains", ("direction", "memory", "sizes", "built_in", "times_driver"), rows)


def _span(ratios: Sequence[float]) -> str:
    return spanned(f"{min(ratios):.2f}", f"{max(ratios):.2f}")


def _verdict(table: Mapping[str, Any]) -> str:
    sizes = {(gain["direction"], gain["bytes"]) for gain in table["gains"]}
    better = {(gain["direction"], gain["bytes"]) for gain in table["gains"] if gain["built_in"]["median"] != 1}
    pieces = table["new_pieces"]
    if not better and not pieces:
        return say("calibration.verdict_none")
    counts = {"better": len(better), "sizes": len(sizes), "pieces": pieces, "shapes": len(table["pieces"])}
    return say("calibration.verdict", **counts)
