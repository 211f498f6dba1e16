"""How much managed memory moves at a time: a part of the managed experiment, by timing and by the driver's counters."""

from collections.abc import Sequence
from functools import partial

from isthmus.cupti import cupti_libraries
from isthmus.errors import IsthmusError
from isthmus.experiment.engine.batch import Batch, Planned, Prepared
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.reasons import reason_of, skipped_case
from isthmus.experiment.managed.migration_array import ARRAY_BYTES, BLOCK_BYTES, MigrationArray
from isthmus.experiment.managed.migration_counts import Pass, count, passes
from isthmus.experiment.managed.migration_probes import Probe, ProbeSubject, probes
from isthmus.machine.devices import OpenDevice
from isthmus.record import Case, format_bytes

# Seconds that they should take; the weights of their batches.
_SECONDS_A_PROBE = 0.08
_SECONDS_A_PASS = 0.2
# The array, and the same on the host while it is filled and looked at.
_NEEDED_BYTES = 2 * (ARRAY_BYTES + BLOCK_BYTES)


def plan(device: OpenDevice, options: Options, memory_bytes: int) -> Planned:
    """Two batches: probes, and after them the passes that are counted, since counting stays in the driver's way."""
    timed, counted = probes(options.mode), passes()
    if why := _why_not(device, memory_bytes):
        return Planned([], _skipped([*(each.template for each in timed), *(each.template for each in counted)], why))
    skipped: list[Case] = []
    if why := device.native.why_no_prefetch():
        skipped = _skipped([each.template for each in timed if each.mover == "prefetch"], why)
        timed = [each for each in timed if each.mover != "prefetch"]
    if device.description.backend != "cuda":
        why = "CUPTI counts migrations of CUDA's managed memory alone; timing says how it moves here"
        skipped += _skipped([each.template for each in counted], why)
        counted = []
    batches = [Batch(len(timed), _SECONDS_A_PROBE * len(timed), partial(_probe, device, timed))]
    if counted:
        batches.append(Batch(len(counted), _SECONDS_A_PASS * len(counted), partial(_count, device, counted)))
    return Planned(batches, skipped)


def _skipped(templates: Sequence[Case], why: str) -> list[Case]:
    """One case for each method and direction: no distance or stride is the reason."""
    firsts = {(each.method, each.direction): each for each in reversed(templates)}
    return [skipped_case(each, why) for each in reversed(firsts.values())]


def _why_not(device: OpenDevice, memory_bytes: int) -> str | None:
    if memory_bytes < _NEEDED_BYTES:
        return f"needs {format_bytes(_NEEDED_BYTES)} of memory, of which {format_bytes(memory_bytes)} may be taken"
    return device.native.why_no_migration()


def _probe(device: OpenDevice, chosen: Sequence[Probe]) -> Prepared:
    try:
        array = MigrationArray(device.native)
    except IsthmusError as error:
        return Prepared([], [[skipped_case(each.template, reason_of(error))] for each in chosen])
    return Prepared([ProbeSubject(each, array) for each in chosen])


def _count(device: OpenDevice, chosen: Sequence[Pass]) -> Prepared:
    libraries = cupti_libraries(device.description.api_version)
    return Prepared([], [[case] for case in count(device.native, libraries, chosen)])
