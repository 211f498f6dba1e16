"""How much managed memory moves at a time: plans, touches that are checked, probes and counts of a known truth."""

from pathlib import Path

import msgspec
import pytest

from isthmus.cupti import cupti_libraries, cupti_order
from isthmus.experiment.engine.buffers import PAGE_BYTES
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.rounds import Quota
from isthmus.experiment.engine.sampling import Collected, Rules
from isthmus.experiment.engine.sweep import TimedSubject
from isthmus.experiment.managed.granularity import Probe, _Probed, plan, probes
from isthmus.experiment.managed.migration_counts import (
    ARRAY_BYTES,
    BLOCK_BYTES,
    BLOCKS,
    MigrationArray,
    Pass,
    counted_case,
)
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.record import GIB, KIB, MIB, Faults, Migrations
from tests.synthetic import migrations as synthetic_migrations


class Native:
    """A device that gives these answers."""

    def __init__(self, migration: str | None = None, prefetch: str | None = None) -> None:
        self.why_no_migration = lambda: migration
        self.why_no_prefetch = lambda: prefetch


def pretended(backend: str, **answers: str) -> OpenDevice:
    host = open_device("host")
    description = msgspec.structs.replace(host.description, backend=backend)
    return host._replace(native=Native(**answers), description=description)  # type: ignore[arg-type]


def test_where_no_page_moves_each_method_says_so_once() -> None:
    planned = plan(open_device("host"), Options(), GIB)
    assert not planned.batches
    assert {case.note for case in planned.skipped} == {"device memory is host memory: no page moves"}
    ways = [(case.method, case.direction) for case in planned.skipped]
    assert len(ways) == len(set(ways)) == 13


def test_too_little_memory_is_the_reason() -> None:
    [note] = {case.note for case in plan(pretended("cuda"), Options(), MIB).skipped}
    assert note == "needs 136 MiB of memory, of which 1 MiB may be taken"


def test_a_gpu_is_probed_before_it_is_counted() -> None:
    planned = plan(pretended("cuda"), Options(), GIB)
    assert [len(batch.cases) for batch in planned.batches] == [len(probes("default")), 9]
    assert not planned.skipped


def test_shared_virtual_memory_is_probed_by_touches_alone() -> None:
    planned = plan(pretended("opencl", prefetch="OpenCL cannot"), Options(), GIB)
    assert [len(batch.cases) for batch in planned.batches] == [len(probes("default")) - 22]
    notes = {case.note: case.method for case in planned.skipped}
    assert notes["OpenCL cannot"] == "neighbour_prefetch"
    assert len(notes) == 2


def test_a_quick_run_keeps_what_tells_the_unit_of_a_fault() -> None:
    quick = probes("quick")
    assert set(quick) < set(probes("default"))
    assert {(each.kind, each.mover) for each in quick} == {
        (kind, mover) for kind in ("neighbour", "stride") for mover in ("device", "host")
    }


def test_touches_are_checked_on_both_sides() -> None:
    array = MigrationArray(open_device("host").native)
    assert array.address % BLOCK_BYTES == 0
    array.to_device()
    array.touch_on_device(PAGE_BYTES, BLOCKS, BLOCK_BYTES)
    array.sweep_on_device()
    array.to_host()
    array.touch_on_host(0, ARRAY_BYTES // PAGE_BYTES, PAGE_BYTES)
    assert not array.wrong()


@pytest.mark.parametrize(("word", "what"), [(0, "first"), (PAGE_BYTES // 4 - 1, "last")])
def test_a_word_that_was_lost_is_noticed(word: int, what: str) -> None:
    array = MigrationArray(open_device("host").native)
    array.touch_on_device(0, 2, PAGE_BYTES)
    array._words[PAGE_BYTES // 4 + word] -= 1
    assert array.wrong() == f"wrong data: the {what} words of 1 of 16384 pages differ, page 1 first"


@pytest.mark.parametrize("probe", [Probe("neighbour", "device", "h2d", 8 * KIB), Probe("grown", "host", "d2h", MIB)])
def test_a_visit_takes_samples_and_checks_the_first(probe: Probe) -> None:
    array = MigrationArray(open_device("host").native)
    subject = TimedSubject(probe.template, lambda: _Probed(probe, array))
    collected = Collected(subject.template)
    subject.visit(Quota(1, 2, 5, 0.0), collected)
    array._words[0] += 1
    subject.visit(Quota(0, 2, 5, 0.0), collected)
    assert not collected.wrong
    [case] = collected.cases(Rules(least_samples=4))
    assert (len(case.samples("host_seconds")), case.verified, case.stride_bytes) == (4, "yes", probe.span)
    spoilt = Collected(subject.template)
    subject.visit(Quota(0, 2, 5, 0.0), spoilt)
    assert spoilt.wrong.startswith("wrong data")


def test_probes_tell_pages_that_came_along() -> None:
    array = synthetic_migrations.Pretended(noise=0.0)

    def waits(kind: str, mover: str, way: str, span: int) -> bool:
        seconds: float = Probe(kind, mover, way, span).seconds(array)  # type: ignore[arg-type]
        return bool(seconds > BLOCKS * array.fault)

    assert [waits("neighbour", "device", "h2d", span) for span in (0, 32 * KIB, 64 * KIB)] == [False, False, True]
    assert [waits("neighbour", "host", "d2h", span) for span in (0, 4 * KIB)] == [False, True]
    assert [waits("neighbour", "prefetch", "h2d", span) for span in (0, 4 * KIB)] == [False, True]
    assert [waits("grown", "device", "h2d", span) for span in (128 * KIB, 2 * MIB, 4 * MIB)] == [False, False, True]
    assert [waits("grown", "host", "d2h", span) for span in (16 * KIB, MIB)] == [True, True]


def test_reports_of_the_array_are_counted_by_size_and_cause() -> None:
    template = Pass("touches", "h2d", BLOCK_BYTES).template
    reports = [
        ("h2d", "coherence", 65536, 0x10000000 + 3 * 65536, 0, 1),
        ("h2d", "coherence", 65536, 0x10000000, 0, 1),
        ("h2d", "prefetch", 4096, 0x10000000 + 4096, 0, 1),
        ("d2h", "eviction", 4096, 0x10000000, 0, 1),
        ("h2d", "coherence", 65536, 0x10000000 + ARRAY_BYTES, 0, 1),  # of other memory
        ("device_fault", "", 3, 0x10000000, 0, 1),
        ("device_fault", "", 1, 0x10000000 + 65536, 0, 1),
        ("host_fault", "", 0x400000, 0x10000000, 0, 0),
        ("7", "", 1, 0x10000000, 0, 0),
    ]
    case = counted_case(template, reports, 0x10000000, 0, "")
    assert case.migrations == [
        Migrations(direction="h2d", cause="coherence", bytes=65536, count=2, alignment_bytes=65536),
        Migrations(direction="h2d", cause="prefetch", bytes=4096, count=1, alignment_bytes=4096),
        Migrations(direction="d2h", cause="eviction", bytes=4096, count=1, alignment_bytes=ARRAY_BYTES),
    ]
    assert case.faults == [Faults(side="device", count=4, groups=2), Faults(side="host", count=1, groups=1)]
    assert (case.verified, case.note) == ("yes", "")
    lossy = counted_case(template, reports, 0x10000000, 5, "wrong data")
    assert (lossy.verified, lossy.note) == ("no", "wrong data; 5 reports were lost, so these counts are too low")
    assert counted_case(template, reports[4:5], 0x10000000, 0, "").skipped


@pytest.mark.parametrize(
    ("version", "first"), [("CUDA 13.0", "13"), ("CUDA 12.8", "12"), ("CUDA 14.1", "13"), ("", "13")]
)
def test_the_drivers_own_version_of_cupti_comes_first(version: str, first: str) -> None:
    assert cupti_order(version)[0] == f"libcupti.so.{first}"
    assert len(cupti_order(version)) == 2


def test_cupti_is_looked_for_in_toolkits_and_packages(tmp_path: Path) -> None:
    toolkit = tmp_path / "usr/local/cuda-13.0/extras/CUPTI/lib64/libcupti.so.13"
    older = tmp_path / "usr/local/cuda-12.4/extras/CUPTI/lib64/libcupti.so.12"
    package = tmp_path / "site/nvidia/cu13/lib/libcupti.so.13"
    for path in (toolkit, older, package):
        path.parent.mkdir(parents=True)
        path.touch()
    found = cupti_libraries("CUDA 13.0", tmp_path, [tmp_path / "site/nvidia"])
    assert found == ["libcupti.so.13", str(toolkit), str(package), "libcupti.so.12", str(older)]


def test_what_is_newer_than_the_driver_is_left_out(tmp_path: Path) -> None:
    newer = tmp_path / "usr/local/cuda-13.5/lib64/libcupti.so.13"
    fitting = tmp_path / "mine/lib64/libcupti.so.13"
    package = tmp_path / "site/nvidia/cu13/lib/libcupti.so.13"
    older = tmp_path / "site/nvidia/cuda_cupti/lib/libcupti.so.12"
    for path in (newer, fitting, package, older):
        path.parent.mkdir(parents=True)
        path.touch()
    for name in ("nvidia_cuda_cupti-13.2.75.dist-info", "nvidia_cuda_cupti_cu12-12.9.79.dist-info"):
        (tmp_path / "site" / name).mkdir()

    def found(version: str) -> list[str]:
        paths = cupti_libraries(version, tmp_path, [tmp_path / "site/nvidia"], str(tmp_path / "mine"))
        return [path for path in paths if "/" in path]

    assert found("CUDA 13.0") == [str(fitting), str(older)]
    assert found("CUDA 13.2") == [str(fitting), str(package), str(older)]
    assert found("CUDA 13.5") == [str(fitting), str(newer), str(package), str(older)]
    assert found("") == [str(fitting), str(newer), str(package), str(older)]
