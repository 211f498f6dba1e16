"""Short answers that many reports share: thresholds, reasons of skips, titles of runs, facts of a machine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from isthmus.analysis.breakeven.section import size_cell, uses_cell, written
from isthmus.analysis.breakeven.words import answer_words
from isthmus.analysis.labels import run_title
from isthmus.analysis.machine import facts
from isthmus.analysis.skips import skip_groups, skip_item
from isthmus.analysis.statistics.threshold import Threshold
from isthmus.record import GIB, KIB, MIB, Case, Direction, Host, Launch, Link, Memory, Phase, Run
from tests.synthetic import runs, threads

INFINITE, NAN = float("inf"), float("nan")


def threshold(state: str, value: float, low: float, high: float, crossings: int = 1) -> Threshold:
    return Threshold(state, 4.0 * KIB, 128.0 * MIB, value, low, high, crossings)  # type: ignore[arg-type]


NOISE = threshold("cannot_tell", NAN, 0.0, INFINITE)
THRESHOLDS = (
    threshold("always", 0.0, 0.0, 0.0),
    threshold("always", 0.0, 0.0, 90 * KIB),
    threshold("never", INFINITE, INFINITE, INFINITE),
    threshold("never", INFINITE, 100 * MIB, INFINITE),
    NOISE,
    replace(NOISE, slower=(4.0 * KIB, 2.0 * MIB)),
    replace(NOISE, slower=(4.0 * KIB, 128.0 * MIB)),
    threshold("from", 700 * KIB, 680 * KIB, 740 * KIB),
    threshold("from", 2 * MIB, 1.9 * MIB, 2.1 * MIB, crossings=2),
    threshold("from", 9 * MIB, 2 * MIB, 40 * MIB),
    threshold("from", 5 * KIB, 0.0, 6 * KIB),
    threshold("from", 110 * MIB, 90 * MIB, INFINITE),
    threshold("up_to", 2 * MIB, 1.9 * MIB, 2.1 * MIB),
    threshold("up_to", 900 * KIB, 700 * KIB, 3 * MIB),
)
USES = (
    THRESHOLDS[0],
    threshold("from", 6.0, 6.0, 6.0),
    threshold("from", 6.0, 5.0, 6.0),
    threshold("up_to", 144.0, 130.0, 160.0),
    THRESHOLDS[2],
)


def sizes() -> list[str]:
    return [f"{written(size_cell(each))} ({size_cell(each).state}): {answer_words(each)}" for each in THRESHOLDS]


def uses() -> list[str]:
    return [f"{written(uses_cell(each))} ({uses_cell(each).state})" for each in USES]


def skipped(*cases: Case) -> list[str]:
    return [skip_item(group).words for group in skip_groups(runs.run(cases))]


def some(direction: Direction, memory: str, sizes: Sequence[int], reason: str) -> list[Case]:
    return runs.skips(("copy", direction, memory), sizes, reason)


def missing(experiment: str, method: str, memory: str, size: int, note: str, count: int | None = None) -> Case:
    return Case(
        experiment=experiment, method=method, host_memory=memory, bytes=size, uses=count, skipped=True, note=note
    )


def of_memory() -> list[str]:
    """The largest group first; another error of the driver is another reason."""
    failed = ("failed: copy of 1 MiB (719)", "failed: copy of 2 MiB (700)", "failed: copy of 4 MiB (719)")
    return skipped(
        *some("h2d", "pageable_huge", [GIB], "too large"),
        *some("d2h", "write_combined", [MIB, GIB], "no such memory"),
        *some("h2d", "write_combined", [MIB, GIB], "no such memory"),
        *some("both", "pinned", [1], ""),
        *(case for reason in failed for case in some("h2d", "pinned", [MIB], reason)),
    )


def of_threads() -> list[str]:
    measured = threads.cases({("h2d", "pinned"): lambda _: 55.0}, sizes=[64 * MIB, GIB])
    return skipped(
        *measured,
        *threads.skips("there is one device", devices=2),
        *threads.skips("there is one NUMA node", ["h2d"], node=1),
        *threads.skips("a container allows 20 threads", ["both"])[-2:],
    )


def of_parts() -> list[str]:
    """What was measured of the same elsewhere, on another node."""
    return skipped(
        threads.placed(55.0, node=0),
        *threads.skips("no memory there", ["h2d"], node=1),
        *threads.skips("one device", ["h2d"], devices=2)[:1],
        missing("threads", "peer_copy", "", 0, "one device"),
    )


def of_a_device_that_fails() -> list[str]:
    """Each thread, lane and size words the same failure with its own numbers."""
    return skipped(
        *(
            case
            for lane in ("h2d", "d2h")
            for size in (MIB, 64 * MIB)
            for thread in (1, 12, 32)
            for case in threads.skips(
                f"failed: {lane}: {size} bytes, thread {thread} of 32: cuMemcpyAsync failed (719)"
            )
        ),
        *threads.skips("there is one device", devices=2),
    )


def of_three_experiments() -> list[str]:
    """A line for hundreds of cases."""
    every = [1 << power for power in range(8, 31, 2)]
    pools = ("device_pool", "device_pool_cold")
    calls = ("allocate", "free", "first_allocate", "first_free")
    return skipped(
        *runs.cases({("copy", "h2d", "pinned"): runs.Truth(8e-6, 50e9)}, [MIB]),
        *(missing("allocation", call, kind, size, "no pools") for call in calls for kind in pools for size in every),
        *(
            missing("breakeven", method, "managed", size, "no managed memory", count)
            for method in ("round_trip", "reduction")
            for count in (1, 2, 5, 10)
            for size in every
        ),
        *(
            missing("allocation", "allocate", "pinned", size, f"failed: cuMemHostAlloc of {size} bytes gave 2")
            for size in every[-3:]
        ),
        missing("allocation", "open_device", "", 0, "no fork"),
        Case(experiment="breakeven", method="round_trip_in_place", host_memory="pinned", bytes=MIB),
    )


def titles() -> list[str]:
    """By host where there are several, by rank and phase where a launcher started them."""
    hosts = [runs.run([], name=name, host=Host(name=host)) for name, host in (("x", "n1"), ("y", "n2"), ("z", ""))]

    def of_rank(phase: Phase) -> Run:
        launch = Launch(fleet="f", phase=phase, rank=3, ranks=2, local_rank=3, node=0)
        return msgspec.structs.replace(hosts[0], launch=launch)

    together = [hosts[:1], hosts, hosts[:1] * 2, [of_rank("alone"), of_rank("together"), hosts[0]]]
    return [run_title(each, index) for each in together for index in range(len(each))]


def machines() -> list[str]:
    """Of a run on a GPU, on a CPU, and on a card of whose link the width is unknown."""
    small = Host(memory=Memory(total_bytes=3 * GIB))
    unknown = runs.run([], device=runs.gpu(link=Link(generation=4)), host=small)
    every = (runs.h200(), runs.run([], device=runs.cpu_device(), end=None), unknown)
    return [f"{fact.name}: {fact.value}" for run in every for fact in [*facts(run)]]


SENTENCES: Mapping[str, Callable[[], list[str]]] = {
    "thresholds": sizes,
    "thresholds-uses": uses,
    "skips-memory": of_memory,
    "skips-threads": of_threads,
    "skips-parts": of_parts,
    "skips-failing": of_a_device_that_fails,
    "skips-many": of_three_experiments,
    "titles": titles,
    "machines": machines,
}


@pytest.mark.parametrize("name", SENTENCES)
def test_sentences(name: str, text_file: SnapshotAssertion) -> None:
    assert "".join(f"{line}\n" for line in SENTENCES[name]()) == text_file
