"""`isthmus calibrate`: measure which way is fastest for which copy, and keep it for the transfer library."""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isthmus.cache import cache_folder, reason
from isthmus.commands._choices import DeviceOption, ForceOption, JsonOption, SeedOption, option
from isthmus.commands._own_files import check_replaceable
from isthmus.commands._progress import ProgressBar
from isthmus.errors import RunFileError, UsageError
from isthmus.files import write_whole
from isthmus.messages import printable, to_stderr

if TYPE_CHECKING:
    from rich.table import Table

    from isthmus.experiment.calibration.calibrate import Calibration, TransferTable
    from isthmus.experiment.calibration.turns import Gain
    from isthmus.machine.devices import OpenDevice

# No table is so wide.
_PIPE_WIDTH = 200


def calibrate(
    device: DeviceOption = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer sizes and shapes, in about a third of the time.")
    ] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Show the table that is used on this machine, and measure nothing.")
    ] = False,
    output: Annotated[
        Path | None, option("--output", "FILE", "Write the table there, and not to this machine's place.", "-o")
    ] = None,
    force: ForceOption = False,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Measure which way to copy is fastest here, in about a minute, for isthmus.copy and the C interface."""
    from isthmus.experiment.calibration.calibrate import table_in_use, table_path
    from isthmus.machine.devices import open_device

    if show and (quick or output is not None):
        raise UsageError("--show measures nothing, so neither --quick nor -o goes with it")
    if output is not None:
        check_replaceable(output, force=force)
    opened = open_device(device, bind=not show)
    path = output if output is not None else table_path(opened)
    if not show and path is not None:
        _make_place(path, of_cache=output is None)
    measured = None if show else _measure(opened, quick, seed)
    table = measured.table if measured else table_in_use(opened)
    if measured and path is not None:
        _write(path, table.text())
    print_table = _print_json if as_json else _print_terminal
    print_table(table, path, measured)
    if measured and path is None:
        why = "what a host pretends is no machine" if opened.model else "there is no home directory to keep it in"
        to_stderr(f"isthmus: the table is not kept: {why}; -o FILE writes it")


def _measure(device: "OpenDevice", quick: bool, seed: int) -> "Calibration":
    from isthmus.experiment.calibration.calibrate import calibrate as measure

    to_stderr(f"calibrating {device.description.spec}, {device.description.name}")
    try:
        with ProgressBar() as progress:
            return measure(device, quick, seed, progress.update)
    except KeyboardInterrupt:
        to_stderr("isthmus: interrupted; the table is as it was")
        raise


def _write(path: Path, text: str) -> None:
    """Whole or not at all, since sessions may be opened meanwhile. Raises RunFileError where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with write_whole(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise _unwritable(path, error) from error


def _make_place(path: Path, *, of_cache: bool) -> None:
    """Before a minute is spent on what cannot be kept. Raises RunFileError."""
    try:
        if of_cache:
            cache_folder("tables")
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> RunFileError:
    return RunFileError(f"{path}: the table cannot be written: {reason(error)}, or write it elsewhere with -o FILE")


def _print_json(table: "TransferTable", path: Path | None, measured: "Calibration | None") -> None:
    import json

    document: dict[str, Any] = {
        "path": None if path is None else str(path),
        "origin": table.origin,
        "built_in": table.built_in,
        "buffers": table.buffers,
        "direct": table.direct,
        "kernels": table.kernels,
        "pieces": table.pieces,
        "ways": table.ways,
    }
    if measured:
        document["gains"] = [
            {**gain._asdict(), "built_in": gain.built_in._asdict(), "driver": gain.driver._asdict()}
            for gain in measured.gains
        ]
        document["way_gains"] = [
            {"direction": way.direction, "device": way.device, "bytes": size, "own": ratio._asdict()}
            for way in measured.ways
            for size, ratio in way.ratios.items()
        ]
    print(json.dumps(document, indent=2))


def _print_terminal(table: "TransferTable", path: Path | None, measured: "Calibration | None") -> None:
    from rich.console import Console

    is_told = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    console = Console() if is_told else Console(width=_PIPE_WIDTH)
    # Captured, because rich ends the process when the reader of a pipe has gone; that is for main to judge.
    with console.capture() as captured:
        console.print(printable(table.origin), highlight=False, markup=False, soft_wrap=True)
        console.print(_buffers_table(table, measured))
        console.print(_pieces_table(table))
        if table.kernels:
            found = ", ".join(f"{rule['direction']} {rule['blocks']}" for rule in table.kernels)
            console.print(f"Blocks of 1,024 threads that kernels fill the link with: {found}", highlight=False)
        if table.ways:
            console.print(_ways_table(table, measured))
        if measured:
            console.print(_gains_table(measured))
            console.print(_verdict(table, measured), highlight=False, markup=False, soft_wrap=True)
        if path is not None and not table.built_in:
            console.print(f"table  {path}", highlight=False, markup=False, soft_wrap=True)
    sys.stdout.write(captured.get())


def _grid(title: str, columns: Sequence[str]) -> "Table":
    from rich import box
    from rich.table import Table

    grid = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        grid.add_column(column)
    return grid


def _buffers_table(table: "TransferTable", measured: "Calibration | None") -> "Table":
    from isthmus.record import format_bytes, format_rate, format_seconds

    choices = measured.buffers if measured else []
    beside = {(str(choice.direction), choice.bytes): choice.driver_seconds for choice in choices}
    grid = _grid("Buffers in pageable memory", ("direction", "from", "way", "takes", "rate", "driver takes"))
    for rule in table.buffers:
        size, seconds = rule["from_bytes"], rule["seconds"]
        way = "driver"
        if rule["method"] == "staged":
            way = f"{rule['threads']} threads, {format_bytes(rule['chunk_bytes'])} chunks, {rule['stores']} stores"
        rate = format_rate(size / seconds) if size else ""
        driver = beside.get((rule["direction"], size))
        other = format_seconds(driver) if driver is not None and rule["method"] == "staged" else ""
        grid.add_row(rule["direction"], format_bytes(size), way, format_seconds(seconds), rate, other)
    return grid


def _ways_table(table: "TransferTable", measured: "Calibration | None") -> "Table":
    """Which other devices' links large copies take too, and how many times as fast the largest measured ones are."""
    from isthmus.record import format_bytes, format_rate

    largest = {
        (str(way.direction), way.device): f"{way.ratios[max(way.ratios)].median:.2f}"
        for way in (measured.ways if measured else ())
    }
    title = "Links of other devices, where a session may use them"
    grid = _grid(title, ("direction", "device", "used", "its rate meanwhile", "times the own link alone"))
    for rule in table.ways:
        used = f"from {format_bytes(rule['from_bytes'])}" if rule["gains"] else "no: gains less than 5 %"
        rate = format_rate(rule["bytes"] / rule["seconds"])
        grid.add_row(
            rule["direction"], rule["device"], used, rate, largest.get((rule["direction"], rule["device"]), "")
        )
    return grid


def _gains_table(measured: "Calibration") -> "Table":
    """The least and the most by which copies of one direction and kind of memory gain."""
    from isthmus.record import format_bytes

    title = "Checked in turns: how many times as fast as ..."
    grid = _grid(title, ("direction", "host memory", "sizes", "the built-in table", "the driver's own copy"))
    parts: dict[tuple[str, str], list[Gain]] = {}
    for gain in measured.gains:
        parts.setdefault((gain.direction, gain.situation), []).append(gain)
    for (direction, memory), gains in parts.items():
        sizes = " to ".join(format_bytes(gain.bytes) for gain in (gains[0], gains[-1]))
        built_in, driver = ([getattr(gain, name).median for gain in gains] for name in ("built_in", "driver"))
        ranges = [f"{min(each):.2f} to {max(each):.2f}" for each in (built_in, driver)]
        grid.add_row(direction, memory, sizes, *ranges)
    return grid


def _verdict(table: "TransferTable", measured: "Calibration") -> str:
    sizes = {(gain.direction, gain.bytes) for gain in measured.gains}
    better = {(gain.direction, gain.bytes) for gain in measured.gains if gain.built_in.median != 1}
    shapes = f"{len(measured.pieces)} of {len(table.pieces)} shapes of pieces"
    if not better and not measured.pieces:
        return "Nothing beat the built-in table; all methods stay as built in, with the times of this machine."
    return (
        f"{len(better)} of {len(sizes)} sizes of buffers and {shapes} are copied in a new way, which won in turns; the "
        "rest stays as built in."
    )


def _pieces_table(table: "TransferTable") -> "Table":
    """For each direction, memory and layout how many of the measured shapes each method moves fastest."""
    counts: dict[tuple[str, str, str, str], Counter[str]] = {}
    for rule in table.pieces:
        one_side = "host" if rule["apart_on_host"] else "device"
        apart = "both sides" if rule["apart_on_host"] and rule["apart_on_device"] else one_side
        layout = "scattered" if rule["scattered"] else "regular"
        memory = "pageable" if rule["pageable"] else "pinned"
        counts.setdefault((rule["direction"], memory, apart, layout), Counter())[rule["method"]] += 1
    title = "Pieces that lie apart: how many of the measured shapes each method moves fastest"
    grid = _grid(title, ("direction", "memory", "apart on", "layout", "methods"))
    for shape, methods in counts.items():
        grid.add_row(*shape, ", ".join(f"{method} {count}" for method, count in methods.most_common()))
    return grid
