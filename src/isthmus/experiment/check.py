"""The few copies that tell whether a device's link is all right: pinned and pageable memory, large, both ways."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.progress import Progress
from isthmus.experiment.measure import choose_experiments, measure
from isthmus.machine.devices import OpenDevice
from isthmus.record import MIB, Run, read_run

SECONDS = 2.5
SIZES = (64 * MIB, 256 * MIB)
_SHARED_SIZES = (4 * MIB, 16 * MIB)


def measure_link(
    device: OpenDevice, command: Sequence[str], progress: Progress, path: Path | None = None, seconds: float = SECONDS
) -> Run:
    """Measure for some seconds, verified; the run is kept in `path`, if one is given.

    Raises what `measure` does.
    """
    options = Options(
        mode="quick",
        sizes=_SHARED_SIZES if device.description.shares_host_memory else SIZES,
        memory=("pinned", "pageable"),
        directions=("h2d", "d2h"),
        budget_seconds=seconds,
    )
    with tempfile.TemporaryDirectory() as folder:
        kept = path or Path(folder) / "check.json"
        measure(device, options, choose_experiments(["bandwidth"], options), kept, command, progress, lambda: None)
        return read_run(kept)
