"""The allocation experiment on the host backend: its cases, and memory that runs out on the way."""

from collections.abc import Callable

from isthmus.experiment.allocation.cases import plan
from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.options import Options
from isthmus.machine.devices import open_device
from isthmus.record import GIB, KIB, MIB, Case


def test_the_limit_on_locked_memory_skips_what_exceeds_it_and_the_sweep_goes_on(
    ended: Callable[[Planned], list[Case]],
) -> None:
    device = open_device("host:locked=8MiB")
    options = Options(sizes=[MIB, 16 * MIB, 4 * MIB], memory=["pinned", "registered", "touched_registered", "pageable"])
    for _ in range(2):  # Once more: what failed must not have taken any of the limit.
        cases = ended(plan(device, options, GIB))
        skipped = {(case.host_memory, case.bytes) for case in cases if case.skipped}
        assert skipped == {(kind, 16 * MIB) for kind in ("pinned", "registered", "touched_registered")}
        notes = [case.note for case in cases if case.skipped]
        assert all("16777216 bytes of" in note and "limit leaves 8388608 bytes to be locked" in note for note in notes)
        assert {case.bytes for case in cases if case.series and case.host_memory == "pageable"} == set(options.sizes)


def test_where_there_is_room_for_one_block_and_not_for_many_one_is_measured(
    ended: Callable[[Planned], list[Case]],
) -> None:
    device = open_device("host:memory=1MiB")
    before = device.native.free_bytes()
    cases = ended(plan(device, Options(sizes=[64 * KIB, 768 * KIB], memory=["device"]), GIB))
    assert not any(case.skipped for case in cases)
    assert device.native.free_bytes() == before
