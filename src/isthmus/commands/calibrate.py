"""`isthmus calibrate`: measure which way is fastest for which copy, and keep it for the transfer library."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.cache import cache_folder, reason
from isthmus.commands._choices import (
    DeviceOption,
    ForceOption,
    JsonOption,
    LanguageOption,
    SeedOption,
    flag,
    language_of,
    option,
)
from isthmus.commands._output import format_of, format_option, write_report
from isthmus.commands._own_files import check_replaceable
from isthmus.commands._progress import ProgressBar
from isthmus.errors import RunFileError, UsageError
from isthmus.files import write_whole
from isthmus.messages import to_stderr

if TYPE_CHECKING:
    from isthmus.experiment.calibration.calibrate import Calibration, TransferTable
    from isthmus.machine.devices import OpenDevice


def calibrate(
    device: DeviceOption = None,
    quick: bool = flag("--quick", "Fewer sizes and shapes, in about a third of the time."),
    show: bool = flag("--show", "Show the table that is used on this machine, and measure nothing."),
    output: Path | None = option("--output", "FILE", "Write the table there, and not to this machine's place.", "-o"),
    force: ForceOption = False,
    seed: SeedOption = 0,
    format_name: str | None = format_option("calibration"),
    as_json: JsonOption = False,
    language: LanguageOption = "",
) -> None:
    """Measure which way to copy is fastest here, in about a minute, for isthmus.copy and the C interface."""
    from isthmus.experiment.calibration.calibrate import table_in_use, table_path
    from isthmus.language import speaking
    from isthmus.machine.devices import open_device
    from isthmus.report.calibration import calibration_document

    spoken, chosen = language_of(language), format_of("calibration", format_name, None, as_json=as_json)
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
        # Whole or not at all, since sessions may be opened meanwhile. Raises RunFileError where it cannot be written.
        text = table.text()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with write_whole(path) as file:
                file.write(text.encode())
        except OSError as error:
            raise _unwritable(path, error) from error
    with speaking(spoken):
        write_report(calibration_document(opened.description, _data(table, path, measured)), chosen, None)
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


def _data(table: "TransferTable", path: Path | None, measured: "Calibration | None") -> dict[str, Any]:
    """The table, and what it gains where it was measured; `driver_seconds` are what the driver took for a buffer."""
    names = ("origin", "built_in", "buffers", "direct", "kernels", "pieces", "ways")
    content = {"path": None if path is None else str(path)} | {name: getattr(table, name) for name in names}
    if measured is None:
        return content
    driver = {(str(choice.direction), choice.bytes): choice.driver_seconds for choice in measured.buffers}
    return content | {
        "buffers": [
            rule | {"driver_seconds": driver.get((rule["direction"], rule["from_bytes"]))} for rule in table.buffers
        ],
        "gains": [
            {**gain._asdict(), "built_in": gain.built_in._asdict(), "driver": gain.driver._asdict()}
            for gain in measured.gains
        ],
        "new_pieces": len(measured.pieces),
    }
